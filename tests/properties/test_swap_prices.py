"""Prices of swaps against exact fractions: every rounding is in the pool's favour, and no trip gains."""

import contextlib
import math
import random
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from hansa.foundation.values.money import Minor
from hansa.rooms.transfers.pools import pricing
from hansa.rooms.transfers.pools.pricing import Price, Reserve, SwapImpossible, View
from tests.properties.scale import by_tier, printed_seed
from tests.properties.swap_oracle import Pool, differences

PRICES = by_tier(5_000, 1_000_000, 1_000_000)
TRIPS = by_tier(1_500, 1_000_000, 1_000_000)
STORMS = by_tier(150, 20_000, 20_000)
UNITS = ("ONE", "TWO", "SIX")


def test_every_price_is_rounded_as_the_table_says() -> None:
    assert differences(random.Random(printed_seed()), PRICES) == []


def test_the_guide_has_the_table_of_roundings() -> None:
    guide = (Path(__file__).parents[2] / "docs/guides/swap-currencies.md").read_text()
    for what, direction, formula in pricing.ROUNDINGS:
        assert f"| {what} | {direction} | {formula} |" in guide


def gross_up(patch: pytest.MonkeyPatch) -> None:
    right = pricing._gross
    patch.setattr(pricing, "_gross", lambda view, amount: right(view, amount) + 1)


def gross_half_even(patch: pytest.MonkeyPatch) -> None:
    def gross(view: View, amount: int) -> int:
        if view.rate is not None:
            return math.floor(amount * view.rate)
        return round(Fraction(view.taken.lowest * amount, view.given.highest + amount))

    patch.setattr(pricing, "_gross", gross)


def fee_down(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(pricing, "share", lambda amount, rate: Minor(math.floor(amount * rate)))


def input_down(patch: pytest.MonkeyPatch) -> None:
    right = pricing.price_out

    def price_out(view: View, amount_out: int) -> Price:
        price = right(view, amount_out)
        return Price(Minor(price.amount_in - 1), price.amount_out, price.fee)

    patch.setattr(pricing, "price_out", price_out)


def least_output_up(patch: pytest.MonkeyPatch) -> None:
    def least(view: View, amount_in: int, slippage_max: Fraction) -> Minor:
        return Minor(max(1, math.ceil(amount_in * view.spot * (1 - slippage_max))))

    patch.setattr(pricing, "least_output", least)


PLANTED = (gross_up, gross_half_even, fee_down, input_down, least_output_up)


@pytest.mark.parametrize("plant", PLANTED)
def test_a_rounding_in_another_direction_is_found(
    plant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    assert differences(random.Random(1), 2_000)


def _pools(rng: random.Random) -> tuple[dict[frozenset[str], Pool], dict[str, int]]:
    """Three pools that agree on the price of every unit, and these prices."""
    worth = {unit: rng.randint(1, 10 ** rng.choice((1, 3, 6))) for unit in UNITS}
    pools = {}
    for one, other in (UNITS[:2], UNITS[1:], (UNITS[2], UNITS[0])):
        size = rng.randint(1, 10 ** rng.choice((1, 2, 4, 9)))
        reserves = {one: Reserve(worth[other] * size), other: Reserve(worth[one] * size)}
        pools[frozenset((one, other))] = Pool(reserves)
    return pools, worth


def test_no_trip_of_one_two_or_three_hops_gains() -> None:
    """Require that the units of an agent are worth no more after each hop, at the prices that it began with, whatever the hops are."""
    rng = random.Random(printed_seed())
    hops_made = 0
    for _ in range(TRIPS):
        pools, worth = _pools(rng)
        unit = rng.choice(UNITS)
        held = rng.randint(1, 10 ** rng.choice((1, 4, 9, 15)))
        began = held * worth[unit]
        spare = 0
        for _ in range(rng.choice((1, 2, 3, 6))):
            target = rng.choice([other for other in UNITS if other != unit])
            pool = pools[frozenset((unit, target))]
            k, given = pool.k, rng.choice((held, rng.randint(1, held)))
            try:
                price = _bought(rng, pool, unit, given)
            except SwapImpossible:
                continue
            pool.decide(0, committed=True)
            assert pool.k >= k
            spare += (held - price.amount_in) * worth[unit]
            unit, held = target, price.amount_out
            hops_made += 1
            assert held * worth[unit] + spare <= began
    assert hops_made > TRIPS


def _bought(rng: random.Random, pool: Pool, unit: str, given: int) -> Price:
    """A swap by its input, or by the output that the input would pay."""
    if rng.random() < 0.5:
        return pool.prepare(unit, given)
    wanted = pricing.price_in(pool.view(unit), given).amount_out
    asked = pricing.price_out(pool.view(unit), wanted)
    assert asked.amount_in <= given
    price = pool.prepare(unit, asked.amount_in)
    assert price.amount_out >= wanted
    return price


def test_k_never_falls_whatever_becomes_of_the_swaps_that_are_pending() -> None:
    rng = random.Random(printed_seed())
    for _ in range(STORMS):
        pool = Pool({unit: Reserve(rng.randint(1, 10 ** rng.choice((2, 5, 12)))) for unit in UNITS[:2]})
        k = pool.k
        for _ in range(rng.randint(2, 40)):
            given = rng.choice(UNITS[:2])
            with contextlib.suppress(SwapImpossible):
                pool.prepare(given, rng.randint(1, max(1, 2 * pool.reserves[given].settled)))
            if pool.pending and rng.random() < 0.4:
                pool.decide(rng.randrange(len(pool.pending)), committed=rng.random() < 0.6)
                assert pool.k >= k
        while pool.pending:
            pool.decide(rng.randrange(len(pool.pending)), committed=rng.random() < 0.6)
            assert pool.k >= k


def test_fifty_concurrent_pieces_buy_no_more_than_the_same_pieces_one_after_the_other() -> None:
    """The pieces that wait for their outcome are priced as if all before them were committed."""
    in_turn = Pool({"ONE": Reserve(10**12), "TWO": Reserve(10**12)})
    expected = 0
    for _ in range(50):
        expected += in_turn.prepare("ONE", 10**10).amount_out
        in_turn.decide(0, committed=True)
    pieces = Pool({"ONE": Reserve(10**12), "TWO": Reserve(10**12)})
    bought = sum(pieces.prepare("ONE", 10**10).amount_out for _ in range(50))
    while pieces.pending:
        pieces.decide(0, committed=True)
    assert bought <= expected
    assert pieces.k >= 10**24


def test_pieces_priced_at_the_settled_reserves_would_drain_the_pool() -> None:
    """Show the fault that the test above excludes: priced without regard to pending pieces, the same pieces lower k."""
    view = View(Reserve(10**12), Reserve(10**12))
    price = pricing.price_in(view, 10**10)
    x, y = 10**12 + 50 * price.amount_in, 10**12 - 50 * price.amount_out
    assert x * y < 10**24


def test_pieces_that_are_aborted_leave_the_reserves_as_they_were() -> None:
    pool = Pool({"ONE": Reserve(10**9), "TWO": Reserve(10**9)})
    before = dict(pool.reserves)
    for _ in range(10):
        pool.prepare("ONE", 10**7)
        pool.prepare("TWO", 10**7)
    while pool.pending:
        pool.decide(0, committed=False)
    assert pool.reserves == before


@pytest.mark.parametrize(
    ("gives_own", "amount", "code"),
    [(True, 10**9 + 1, "SIZE_CAP"), (False, 4 * 10**9, "SIZE_CAP"), (True, 9 * 10**8, None)],
)
def test_size_cap_counts_what_is_pending_in_the_own_unit(
    gives_own: bool, amount: int, code: str | None
) -> None:
    limits = pricing.Limits(Minor(10**9), Minor(10**6), Fraction(1, 50), Fraction(1, 5))
    view = View(Reserve(10**10), Reserve(10**10))
    assert (
        _code(
            lambda: pricing.require_within(view, pricing.price_in(view, amount), limits, gives_own=gives_own)
        )
        == code
    )


def test_the_reserve_floor_is_never_crossed() -> None:
    limits = pricing.Limits(Minor(10**12), Minor(5 * 10**6), Fraction(1, 50), Fraction(1, 5))
    view = View(Reserve(10**7), Reserve(10**7))
    price = pricing.price_in(view, 10**7)
    assert _code(lambda: pricing.require_within(view, price, limits, gives_own=False)) is None
    price = pricing.price_in(view, 2 * 10**7)
    assert _code(lambda: pricing.require_within(view, price, limits, gives_own=False)) == "RESERVE_FLOOR"


def test_the_breaker_refuses_what_moves_the_price_too_far_and_lets_it_come_back() -> None:
    view, opening = View(Reserve(10**9), Reserve(10**9)), [(10**9, 10**9)]
    far, near = pricing.price_in(view, 2 * 10**8), pricing.price_in(view, 10**8)
    assert _code(lambda: pricing.require_calm(view, far, opening, Fraction(1, 5))) == "BREAKER_OPEN"
    assert _code(lambda: pricing.require_calm(view, near, opening, Fraction(1, 5))) is None
    # The hour is over: the price of then no longer counts.
    assert _code(lambda: pricing.require_calm(view, far, [], Fraction(1, 5))) is None
    moved = View(Reserve(8 * 10**8), Reserve(12 * 10**8))
    back = pricing.price_in(moved, 10**8)
    assert _code(lambda: pricing.require_calm(moved, back, opening, Fraction(1, 5))) is None


def _code(act: Callable[[], None]) -> str | None:
    try:
        act()
    except SwapImpossible as refusal:
        return refusal.code.value
    return None
