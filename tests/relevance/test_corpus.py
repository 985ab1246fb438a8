"""The corpus itself: valid cards, queries that can be asked, judgments that can be met, and a measure that is right."""

from collections import Counter

import pytest

from hansa.rooms.catalogue.form import check_card
from tests.relevance.corpus import GRADES, KINDS, cards, queries
from tests.relevance.ndcg import ndcg


def test_every_card_could_be_published():
    troubles = {card["humanReadableId"]: check_card(card).troubles for card in cards()}
    assert {name: found for name, found in troubles.items() if found} == {}
    assert len(troubles) == len(cards()) >= 520


def test_no_two_cards_read_alike():
    assert [
        text for text, times in Counter(card["description"] for card in cards()).items() if times > 1
    ] == []


def test_every_query_can_be_asked_and_is_judged_by_cards_that_exist():
    known = {card["humanReadableId"] for card in cards()}
    asked = queries()
    for query in asked:
        assert 3 <= len(query.q.strip()) <= 100, query.id
        assert query.kind in KINDS, query.id
        assert set(query.judgments.values()) <= set(GRADES), query.id
        assert max(query.judgments.values()) == 3, f"{query.id}: nothing is exactly what was asked for"
        assert set(query.judgments) <= known, query.id
    assert len({query.id for query in asked}) == len(asked) >= 70
    assert {query.kind for query in asked} == set(KINDS)


def test_the_measure_is_the_one_computed_by_hand():
    judgments = {"a": 3, "b": 2, "c": 1}
    # Found c, x, a: 1/log2(2) + 0 + 7/log2(4) = 4.5; at best 7 + 3/log2(3) + 1/log2(4) = 9.392789.
    assert ndcg(["c", "x", "a"], judgments) == pytest.approx(4.5 / 9.392789, abs=1e-6)
    assert ndcg(["a", "b", "c"], judgments) == pytest.approx(1)
    assert ndcg(["x", "y"], judgments) == 0
    assert ndcg([], judgments) == 0


def test_the_measure_looks_no_deeper_than_asked_and_pays_a_card_once():
    assert ndcg(["x", "a"], {"a": 3}, depth=1) == 0
    assert ndcg(["c", "c", "c"], {"c": 1, "d": 1}) == ndcg(["c"], {"c": 1, "d": 1}) < 1
    assert ndcg(["a"], {"a": 3, "b": 3}, depth=1) == 1
