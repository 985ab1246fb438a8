"""The record keeps which values are equal, and drops only those that differ from run to run."""

import json

from tests.recorded.placeholders import Placeholders
from tests.recorded.test_conversation import first_difference

ONE, OTHER = "1b4e28ba-2fa1-41d2-883f-0016d3cca427", "6fa459ea-ee8a-4ca4-894e-db77e160355e"


def test_equal_values_have_equal_placeholders_numbered_in_order_of_appearance():
    replaced = Placeholders().replace(
        {
            "to": f"did:hansa:hansa.local:{ONE}",
            "ids": [OTHER, ONE],
            ONE: "avreg_1a2b3c4d",
            "key": "avreg_1a2b3c4d",
        }
    )
    assert replaced == {
        "to": "did:hansa:hansa.local:<uuid 1>",
        "ids": ["<uuid 2>", "<uuid 1>"],
        "<uuid 1>": "<secret 1>",
        "key": "<secret 1>",
    }


def test_one_moment_in_two_notations_has_one_number_and_keeps_its_notation():
    replaced = Placeholders().replace(
        [
            "2026-01-31T12:00:00.5Z",
            "2026-01-31T12:00:00.500000+00:00",
            "2026-01-31T12:00:00.6Z",
            "2026-01-31T12:00:00Z",
        ]
    )
    assert replaced == ["<time 1Z>", "<time 1+00:00>", "<time 2Z>", "<second>"]


def test_amounts_numbers_words_and_fixed_times_stay_as_they_are():
    kept = {
        "amount": "87.11484995",
        "id": "tx-59",
        "limit": 50,
        "text": "Invoice 17",
        "since": "2999-01-01T00:00:00Z",
    }
    assert Placeholders().replace(kept) == kept


def test_the_first_line_that_differs_is_shown_as_a_diff():
    recorded = [json.dumps({"n": number, "fee": "0.05"}) for number in (1, 2, 3)]
    assert first_difference(recorded, recorded) is None
    found = [recorded[0], recorded[1].replace("0.05", "0.06"), "{}"]
    difference = first_difference(recorded, found)
    assert difference
    assert '- "fee": "0.05"' in difference
    assert '+ "fee": "0.06"' in difference
    assert first_difference(recorded, recorded[:2]) == "3 lines are recorded, 2 were found"
