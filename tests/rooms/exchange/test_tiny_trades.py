"""Trades of the smallest amounts, a million before a release: no unit, point or cost appears or is lost to rounding."""

import random
from fractions import Fraction

from hansa.foundation.values.money import share
from hansa.rooms.exchange.revenue import rules
from hansa.rooms.exchange.trading.records import Holding
from tests.properties.scale import by_tier, printed_seed
from tests.rooms.exchange.test_revenue_rules import revenue_of

TRADES = by_tier(20_000, 200_000, 1_000_000)
PARTIES, POINTS = 5, 40
FEE = Fraction(50, 10_000)
LEVIED_EVERY = 7


def test_tiny_trades_drain_neither_units_nor_points_nor_what_holders_are_owed() -> None:
    draw = random.Random(printed_seed())
    holdings = [Holding(POINTS, 0, POINTS * 3) for _ in range(PARTIES)]
    units, fees, exact_fees = [0] * PARTIES, 0, Fraction(0)
    owed, remainder, carried, taken, earned = [0] * PARTIES, 0, 0, 0, 0
    for number in range(TRADES):
        seller, buyer = draw.sample(range(PARTIES), 2)
        qty = min(draw.randint(1, 3), holdings[seller].qty)
        if qty:
            amount = qty * draw.randint(1, 150)
            fee = share(amount, FEE)
            assert 0 <= fee <= amount
            units[buyer] -= amount
            units[seller] += amount - fee
            fees, exact_fees = fees + fee, exact_fees + amount * FEE
            before = holdings[seller].cost
            holdings[seller].give(qty)
            assert 0 <= holdings[seller].cost <= before
            assert holdings[seller].qty or not holdings[seller].cost, "no cost stays without points"
            holdings[buyer].qty += qty
            holdings[buyer].cost += amount
        if number % LEVIED_EVERY == 0:
            revenue = draw.randint(0, 9)
            earned += revenue
            due, remainder = rules.due_of(revenue, revenue_of(1000, PARTIES * POINTS, 500, remainder))
            taken += due
            given = rules.distributed(carried + due, PARTIES * POINTS)
            carried = given.carried
            owed = [before + one.qty * given.per_point for before, one in zip(owed, holdings, strict=True)]
    assert sum(units) + fees == 0, "what buyers pay is what sellers and the fee collector get"
    assert abs(fees - exact_fees) <= Fraction(TRADES, 2), (
        "a trade rounds its fee by half a minor unit at most"
    )
    assert sum(one.qty for one in holdings) == PARTIES * POINTS
    assert sum(owed) + carried == taken
    assert Fraction(earned * 500 * PARTIES * POINTS, 1000 * 10_000) - taken == Fraction(
        remainder, 1000 * 10_000
    )
