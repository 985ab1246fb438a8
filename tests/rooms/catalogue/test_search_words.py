"""Division of queries into words, nearness, and the price and marks of a card in a search."""

import json

import pytest

from hansa.rooms.catalogue.marks import grade_of
from hansa.rooms.catalogue.payment import is_paid
from hansa.rooms.catalogue.search.documents import sorted_price
from hansa.rooms.catalogue.search.explanation import is_near
from hansa.rooms.catalogue.search.text import parse_query


@pytest.mark.parametrize(
    ("query", "words", "runs"),
    [
        ("Find me an agent that translates contracts", ["translates", "contracts"], []),
        ("the agent", ["the", "agent"], []),
        ("ÜBERSETZER für C++", ["ubersetzer", "cplusplus"], []),
        ("AI 翻訳 エージェント", ["ai"], ["翻訳", "エージェント"]),
        ("weather WEATHER weather", ["weather"], []),
        ("did:hansa:hansa.local:1b4e28ba", [], []),
        ("+ - * ()", [], []),
        (" ".join(f"word{number}" for number in range(50)), [f"word{number}" for number in range(12)], []),
    ],
)
def test_a_query_is_cut_into_words_that_say_something(query: str, words: list[str], runs: list[str]):
    asked = parse_query(query)
    assert [word.plain for word in asked.words] == words
    assert list(asked.runs) == runs


@pytest.mark.parametrize(
    ("one", "other", "distance", "expected"),
    [
        ("translator", "translator", 0, True),
        ("tranlsator", "translator", 1, True),
        ("translatr", "translator", 1, True),
        ("trxnslatr", "translator", 1, False),
        ("trxnslatr", "translator", 2, True),
        ("cat", "dog", 2, False),
        ("", "ab", 2, True),
    ],
)
def test_near_is_so_many_characters_left_out_put_in_changed_or_swapped(one, other, distance, expected):
    assert is_near(one, other, distance) is expected
    assert is_near(other, one, distance) is expected


@pytest.mark.parametrize(
    ("pricing", "price"),
    [
        (None, 0),
        ('{"base_rate": 2}', 2),
        ('{"base_rate": "0.25"}', 0.25),
        ('{"base_rate": -1}', 0),
        ('{"base_rate": true}', 0),
        ('{"base_rate": null}', 0),
        ('{"base_rate": "NaN"}', 0),
        ('{"base_rate": 1e999}', 0),
        ('{"base_rate": "1e999999999"}', 0),
        ('{"base_rate": "1e3"}', 0),
        ('{"base_rate": "+1"}', 0),
        ('{"base_rate": ".5"}', 0),
        ('{"base_rate": [1]}', 0),
        ('{"base_rate": "cheap"}', 0),
        ('{"base_rate": 1e300}', 1e14),
        ("[]", 0),
    ],
)
def test_the_price_of_a_card_is_a_base_rate_above_zero_or_none(pricing: str | None, price: float):
    stated = None if pricing is None else json.loads(pricing)
    assert sorted_price(stated) == price
    assert is_paid(stated) is (price > 0)


def test_marks_are_earned_at_fixed_numbers_of_jobs():
    earned = {
        jobs: grade_of(jobs).mark for jobs in (0, 1, 4, 5, 14, 15, 39, 40, 79, 80, 149, 150, 249, 250, 10**6)
    }
    assert list(dict.fromkeys(earned.values())) == [
        None, "Proven", "Established", "Seasoned", "Veteran", "Expert", "Master", "Sovereign"
    ]  # fmt: skip
    assert (earned[4], earned[5], earned[249], earned[250]) == (
        "Proven",
        "Established",
        "Master",
        "Sovereign",
    )
    assert grade_of(250).next_mark_at is None
