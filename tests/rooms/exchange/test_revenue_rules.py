"""Arithmetic of levies and distributions: nothing is lost to rounding, however small the amounts are."""

import random
from datetime import date
from fractions import Fraction
from uuid import UUID

import pytest

from hansa.foundation.values.money import ZERO, Minor
from hansa.rooms.exchange.revenue import rules
from hansa.rooms.exchange.revenue.records import Distribution, Revenue
from tests.properties.scale import printed_seed

TODAY = date(2026, 11, 30)


def revenue_of(total: int, held: int, bps: int, remainder: int = 0) -> Revenue:
    return Revenue(
        "GUILD", UUID(int=0), "", total, bps, held, ZERO, TODAY, None, None, False, remainder, ZERO, TODAY
    )


def levied(amounts: list[int], total: int, held: int, bps: int) -> tuple[int, int]:
    """Sum of all that is due on these revenues, one levy for each, and the last remainder."""
    due_in_all, remainder = 0, 0
    for amount in amounts:
        due, remainder = rules.due_of(amount, revenue_of(total, held, bps, remainder))
        due_in_all += due
    return due_in_all, remainder


def test_a_million_tiny_revenues_pay_as_much_as_one_large_one():
    due, remainder = levied([1] * 10**6, 1000, 20, 1000)
    assert (due, remainder) == levied([10**6], 1000, 20, 1000) == (2000, 0)


def test_any_split_of_a_revenue_pays_the_same():
    rng = random.Random(printed_seed())
    for _ in range(300):
        total = rng.choice((1, 7, 1000, 10**10))
        held, bps = rng.randint(0, total), rng.randint(1, 5000)
        amounts = [rng.randrange(10 ** rng.randint(0, 17)) for _ in range(rng.randint(1, 20))]
        due, remainder = levied(amounts, total, held, bps)
        exact = Fraction(sum(amounts) * bps * held, total * 10_000)
        assert (due, Fraction(remainder, total * 10_000)) == (exact // 1, exact % 1)


def test_any_split_of_a_distribution_gives_every_point_the_same():
    rng = random.Random(printed_seed())
    for _ in range(300):
        held = rng.choice((1, 3, 999, 10**10))
        given, carried = 0, 0
        amounts = [rng.randrange(10 ** rng.randint(0, 17)) for _ in range(rng.randint(1, 20))]
        for amount in amounts:
            found = rules.distributed(carried + amount, held)
            given, carried = given + found.per_point, found.carried
        assert (given, carried) == divmod(sum(amounts), held)


def test_without_points_nothing_is_due_and_everything_is_carried():
    assert rules.due_of(10**9, revenue_of(1000, 0, 5000)) == (0, 0)
    assert rules.distributed(17, 0) == Distribution(0, Minor(17))


@pytest.mark.parametrize(
    ("verdicts", "worst"),
    [
        ([], "SOLVENT"),
        (["SOLVENT", "LOW"], "LOW"),
        (["LOW", "BREACH", "SOLVENT"], "BREACH"),
    ],
)
def test_the_worst_verdict_stands_for_all_listings(verdicts: list[str], worst: str):
    assert rules.worst(verdicts) == worst
