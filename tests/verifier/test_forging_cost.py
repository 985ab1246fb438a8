"""The cost of forging a score: the published table, that it grows with the score, and that the search beats weaker formulas."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

import hansa_verify.reputation
from bench.forging import GRADES_UPWARD, TRIES, Search, costs_of_grades, sublinear, tables
from bench.forging_attacks import ATTACKS
from hansa.foundation.plumbing.settings import Settings
from hansa_verify import Score, Signal, scores_of
from hansa_verify.reputation import FULL_WEIGHT, UNIT

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "grades.md"
FEW_TRIES = 90
STAR, RING = ATTACKS[0], ATTACKS[1]


def paying_per_signal(signals: Iterable[Signal], epoch: date) -> dict[str, Score]:
    """A formula in which each payment is worth a unit, whatever its fee."""
    return scores_of([replace(signal, fee=max(signal.fee, UNIT)) for signal in signals], epoch)


def test_the_guide_has_the_table_that_the_command_prints_and_no_grade_costs_less_for_a_point_than_the_one_below():
    costs = costs_of_grades(TRIES)
    printed = tables(costs, Decimal(Settings.model_fields["mark_min_fee"].default))
    published = (
        GUIDE.read_text().split("<!-- printed by python -m bench.forging -->\n")[1].split("\n<!-- end -->")[0]
    )
    assert published == printed.strip()
    assert sublinear(costs) == []


def test_the_search_finds_that_a_ring_pays_less_than_in_proportion_if_strangers_weigh_an_eighth(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(hansa_verify.reputation, "LEAST_WEIGHT", FULL_WEIGHT // 8)
    found = sublinear(costs_of_grades(FEW_TRIES))
    assert {(one.attack.name, one.grade) for one in found} >= {("ring", "fair"), ("ring", "good")}


def test_the_search_finds_the_lower_price_of_a_formula_that_counts_payments_instead_of_fees():
    (least, _), *_ = GRADES_UPWARD
    assert Search(STAR, least, paying_per_signal).cheapest(FEW_TRIES) < UNIT // 1000


def test_more_tries_never_find_a_dearer_attack():
    least = GRADES_UPWARD[-1][0]
    few, more = (Search(RING, least, scores_of).cheapest(tries) for tries in (0, 4 * FEW_TRIES))
    assert more < few
