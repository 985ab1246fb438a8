"""Labelled disputes, and variants of each that change nothing: none is decided wrongly."""

import json
import random
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest

from hansa_verify import propose
from tests.properties.scale import by_tier, printed_seed
from tests.verifier.dispute_bundles import Setting, bundle_of, compact, piece

CASES = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "vectors" / "verdicts" / "cases.jsonl").read_text().splitlines()
]
LABELS = {
    "IN_FAVOR_OF_COMPLAINANT": "complainant",
    "IN_FAVOR_OF_DEFENDANT": "defendant",
    None: "undecidable",
}
VARIANTS = by_tier(3, 30, 300)


def label(case, setting):
    return LABELS[propose(bundle_of(case, setting)).ruling]


def test_each_case_is_decided_as_it_is_labelled():
    assert len({case["case"] for case in CASES}) == len(CASES) >= 200
    wrong = {case["case"]: found for case in CASES if (found := label(case, Setting())) != case["label"]}
    assert wrong == {}
    print(Counter(case["label"] for case in CASES))


def test_names_dates_amounts_and_words_of_the_other_side_change_no_decision():
    rng = random.Random(printed_seed())
    for case in CASES:
        for _ in range(VARIANTS):
            setting = Setting(
                payer=f"did:hansa:hansa.local:{rng.random()}",
                payee=f"did:web:{rng.random()}.example",
                shift=timedelta(seconds=rng.randrange(-(10**8), 10**8)),
                factor=rng.randrange(1, 10**6),
                has_noise=rng.random() < 0.5,
            )
            assert label(case, setting) == case["label"], (case, setting)


def test_a_changed_signature_proves_nothing():
    rng = random.Random(printed_seed())
    signed = [case for case in CASES if case["label"] != "undecidable" and "receipts" in case]
    for case in signed:
        bundle = bundle_of(case, Setting())
        for one in bundle["evidence"]:
            if one["note"] and one["note"].startswith("eyJ"):
                place = rng.randrange(len(one["note"]) - 80)
                other = "A" if one["note"][place] != "A" else "B"
                one["note"] = one["note"][:place] + other + one["note"][place + 1 :]
        found = LABELS[propose(bundle).ruling]
        assert found == ("undecidable" if not case.get("twice") else case["label"]), case


@pytest.mark.parametrize("issued", [-(10**30), -1, True, 0.5, None, "1", 10**30])
def test_a_quote_of_an_impossible_time_proves_nothing_and_stops_no_verdict(issued):
    case = next(case for case in CASES if case.get("quotes"))
    bundle = bundle_of(case, Setting())
    stated = {
        "kind": "pay.quote.v1",
        "caller": bundle["token"]["caller_did"],
        "payee": bundle["token"]["payee_did"],
        "amount": "0.00000001",
        "currency": bundle["currency"],
        "iat": issued,
        "exp": 10**30,
    }
    bundle["evidence"] = [
        piece(bundle["token"]["caller_did"], compact("caller", "payment-quote+jws", stated))
    ]
    assert propose(bundle).ruling is None


def test_a_second_reader_of_the_specification_labels_no_case_for_the_other_party():
    twice = [case for case in CASES if "second_label" in case]
    assert len(twice) == 219
    differing = [case["case"] for case in twice if case["label"] != case["second_label"]]
    assert len(differing) == 9
    assert all(
        "undecidable" in {case["label"], case["second_label"]} for case in twice if case["case"] in differing
    )
