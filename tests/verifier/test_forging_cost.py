"""The cost of forging a score: the published table, that it grows with the score, and that the search beats weaker formulas."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import date
from fractions import Fraction
from pathlib import Path

import pytest

import hansa_verify.reputation
from hansa.doors import simulation
from hansa.doors.simulation import TRIES
from hansa.doors.simulation.forging import (
    COST_MAX,
    GRADES_UPWARD,
    Search,
    costs_of_grades,
    outcome,
    sublinear,
)
from hansa.doors.simulation.forging_attacks import LOCAL_ATTACKS, attacks_under
from hansa.doors.simulation.pools import RESERVE, Attacker
from hansa.doors.simulation.reputation import restoring
from hansa.foundation.plumbing.settings import read_settings
from hansa.foundation.values.money import Minor, parse_amount
from hansa.rooms import transfers
from hansa_verify import Score, Signal, scores_of
from hansa_verify.reputation import FULL_WEIGHT, UNIT

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "grades.md"
FEW_TRIES = 90
STAR, RING = LOCAL_ATTACKS[:2]


def paying_per_signal(signals: Iterable[Signal], epoch: date) -> dict[str, Score]:
    """A formula in which each payment is worth a unit, whatever its fee."""
    return scores_of([replace(signal, fee=max(signal.fee, UNIT)) for signal in signals], epoch)


def published(command: str) -> str:
    """The text of the guide that a command prints."""
    return GUIDE.read_text().split(f"<!-- printed by {command} -->\n")[1].split("\n<!-- end -->")[0]


def test_the_guide_has_the_table_that_the_command_prints_and_no_grade_costs_less_for_a_point_than_the_one_below():
    fees_max = parse_amount(read_settings().peer_counted_fees_max)
    costs = costs_of_grades(attacks_under(fees_max), TRIES)
    assert published("hansa simulate forging") == outcome(costs).markdown()
    assert sublinear(costs) == []


def test_the_guide_has_the_prices_of_marks_and_of_a_return_that_the_command_prints():
    assert published("hansa simulate reputation") == simulation.reputation.outcome(read_settings()).markdown()


def test_a_return_after_a_lost_dispute_costs_more_than_the_dispute_was_over():
    for one in restoring():
        assert one.of_same_identity > one.of_new_identity > 0


def test_prices_follow_the_settings(tmp_path: Path):
    dear = read_settings(data_dir=tmp_path, mark_min_fee="0.5", genesis_grant_enabled=False)
    (marks, _), _, (grants, _) = simulation.reputation.outcome(dear).parts
    assert [row[2] for row in marks.rows][-1] == "125.0"
    assert {row[2] for row in grants.rows} == {"0"}
    returning = attacks_under(Minor(0))[-1]
    assert Search(returning, GRADES_UPWARD[0][0], scores_of).cheapest(0) == COST_MAX


def test_a_calmer_pool_is_drained_more_slowly(tmp_path: Path):
    def drained(breaker: str) -> float:
        settings = read_settings(data_dir=tmp_path, fx_breaker=breaker)
        return Attacker(transfers.pool_limits(settings), RESERVE).drained(1)

    assert 0 < drained("0.05") < drained("0.2") < drained("0.5") < 1


def test_no_sandwich_earns_from_a_victim_with_a_quote(tmp_path: Path):
    attacker = Attacker(transfers.pool_limits(read_settings(data_dir=tmp_path)), RESERVE)
    earned = {
        bound: attacker.best_sandwich(Fraction(1, 100), bound) for bound in ("none", "slippage", "quote")
    }
    assert earned["quote"] < 0 < earned["slippage"] < earned["none"]


def test_the_search_finds_that_a_ring_pays_less_than_in_proportion_if_strangers_weigh_an_eighth(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(hansa_verify.reputation, "LEAST_WEIGHT", FULL_WEIGHT // 8)
    found = sublinear(costs_of_grades(LOCAL_ATTACKS, FEW_TRIES))
    assert {(one.attack.name, one.grade) for one in found} >= {("ring", "fair"), ("ring", "good")}


def test_the_search_finds_the_lower_price_of_a_formula_that_counts_payments_instead_of_fees():
    (least, _), *_ = GRADES_UPWARD
    assert Search(STAR, least, paying_per_signal).cheapest(FEW_TRIES) < UNIT // 1000


def test_more_tries_never_find_a_dearer_attack():
    least = GRADES_UPWARD[-1][0]
    few, more = (Search(RING, least, scores_of).cheapest(tries) for tries in (0, 4 * FEW_TRIES))
    assert more < few
