"""The price of a swap, in whole minor units. No I/O: the registries, the tests and the simulator run these functions.

- `k`, the product of the two reserves, never falls, whatever becomes of the swaps that are pending: each swap is priced as
  if everything before it ended with the worst outcome for the pool.
- Every division rounds in the direction of `ROUNDINGS`; none is in favour of the agent that swaps.
"""

from collections.abc import Sequence
from enum import StrEnum
from fractions import Fraction

import msgspec

from hansa.foundation.values.money import Minor, share

FEE = Fraction(5, 1000)
"""Of the gross output; it stays in the reserve of the unit that leaves."""
RESERVE_FLOOR_MIN = Minor(10**6)

ROUNDINGS = (
    ("gross output, amount in given", "down", "floor(y * dx / (x + dx)), with a fixed rate floor(dx * rate)"),
    ("fee of a swap", "half to even", "0.5 % of the gross output"),
    ("amount in, output given", "up", "ceil(x * g / (y - g)), with a fixed rate ceil(g / rate)"),
    ("gross output, net output given", "up", "the least g with g - fee(g) >= the output"),
    ("least output without min_amount_out", "down", "floor(dx * spot * (1 - slippage_max))"),
    ("compensation for a slash in another currency", "down", "floor(slashed * spot), at the ruling"),
    ("border fee, fee of a transfer", "half to even", "as every published fee"),
)
"""Every rounding of money between registries: what is rounded, in which direction, the formula."""


class SwapCode(StrEnum):
    """Why a swap is refused."""

    POOL_EMPTY = "POOL_EMPTY"
    RATE_MISSING = "RATE_MISSING"
    TOO_SMALL = "SWAP_TOO_SMALL"
    RESERVE_FLOOR = "RESERVE_FLOOR"
    SIZE_CAP = "SIZE_CAP"
    BREAKER_OPEN = "BREAKER_OPEN"
    BELOW_MINIMUM = "BELOW_MIN_AMOUNT_OUT"
    HOME_DIFFERS = "POOL_DIFFERS"


class SwapImpossible(Exception):
    """The pool does not make this swap; `code` says why."""

    def __init__(self, code: SwapCode) -> None:
        super().__init__(code.value)
        self.code = code


class Reserve(msgspec.Struct, frozen=True):
    """Reserve of one unit: the settled amount, and the amounts that pending swaps may add to it and take from it."""

    settled: int
    pending_in: int = 0
    pending_out: int = 0

    @property
    def highest(self) -> int:
        """When every swap that adds is committed, and every swap that takes is aborted."""
        return self.settled + self.pending_in

    @property
    def lowest(self) -> int:
        """When every swap that takes is committed, and every swap that adds is aborted."""
        return self.settled - self.pending_out


class View(msgspec.Struct, frozen=True):
    """The pool as a swap sees it: `given` is the unit that enters, `taken` the unit that leaves.

    `rate` is the operator's, units taken for one unit given; None: constant product.
    """

    given: Reserve
    taken: Reserve
    rate: Fraction | None = None

    @property
    def spot(self) -> Fraction:
        """Units taken for one unit given, before the fee. Raises: SwapImpossible."""
        if self.rate is not None:
            return self.rate
        if self.given.settled <= 0 or self.taken.settled <= 0:
            raise SwapImpossible(SwapCode.POOL_EMPTY)
        return Fraction(self.taken.settled, self.given.settled)

    @property
    def most_generous(self) -> "View":
        """Pending swaps ended with the best outcome for the agent that swaps: more than this no price can pay."""
        given, taken = self.given, self.taken
        return View(
            Reserve(given.settled - given.pending_out), Reserve(taken.settled + taken.pending_in), self.rate
        )


class Price(msgspec.Struct, frozen=True):
    """Amounts that a swap takes and pays; `fee`, in the unit paid, stays in the pool."""

    amount_in: Minor
    amount_out: Minor
    fee: Minor


class Limits(msgspec.Struct, frozen=True):
    """The limits of one registry: amounts in its own unit, shares as fractions of 1."""

    size_cap: Minor
    reserve_floor: Minor
    slippage_max: Fraction
    breaker: Fraction


def price_in(view: View, amount_in: int) -> Price:
    """The price of exactly `amount_in`. Raises: SwapImpossible, where nothing would be paid."""
    gross = _gross(view, amount_in)
    fee = share(gross, FEE)
    if gross <= fee:
        raise SwapImpossible(SwapCode.TOO_SMALL)
    return Price(Minor(amount_in), Minor(gross - fee), fee)


def price_out(view: View, amount_out: int) -> Price:
    """The price of at least `amount_out`: the least input that pays it. Raises: SwapImpossible."""
    # Two less than the exact quotient, as the fee is rounded to the nearest.
    gross = max(1, int(amount_out / (1 - FEE)) - 2)
    while gross - share(gross, FEE) < amount_out:
        gross += 1
    x, y = view.given.highest, view.taken.lowest
    if x <= 0 or gross >= y:
        raise SwapImpossible(SwapCode.POOL_EMPTY)
    needed = Fraction(x * gross, y - gross) if view.rate is None else gross / view.rate
    return Price(Minor(-(-needed.numerator // needed.denominator)), Minor(amount_out), share(gross, FEE))


def _gross(view: View, amount_in: int) -> int:
    x, y = view.given.highest, view.taken.lowest
    if x <= 0 or y <= 0:
        raise SwapImpossible(SwapCode.POOL_EMPTY)
    if view.rate is None:
        return y * amount_in // (x + amount_in)
    return amount_in * view.rate.numerator // view.rate.denominator


def least_output(view: View, amount_in: int, slippage_max: Fraction) -> Minor:
    """Return the least output for an agent that states no minimum: the spot price less the largest slippage. Raises: SwapImpossible."""
    least = amount_in * view.spot * (1 - slippage_max)
    return Minor(max(1, least.numerator // least.denominator))


def impact(view: View, price: Price) -> Fraction:
    """By which share of the spot price the price is worse, the fee left out; never below 0."""
    paid = Fraction(price.amount_out + price.fee, price.amount_in)
    return max(Fraction(0), 1 - paid / view.spot)


def keeps_k(view: View, price: Price) -> bool:
    """Return whether some outcome of the pending swaps makes this a price that lowers no `k`; always so with a fixed rate."""
    if view.rate is not None:
        return True
    x, y = view.most_generous.given.settled, view.most_generous.taken.settled
    return (x + price.amount_in) * (y - price.amount_out) >= x * y


def require_within(view: View, price: Price, limits: Limits, *, gives_own: bool) -> None:
    """The limits of the registry whose own unit enters (`gives_own`) or leaves. Raises: SwapImpossible."""
    own = view.given if gives_own else view.taken
    size = price.amount_in if gives_own else price.amount_out
    if own.pending_in + own.pending_out + size > limits.size_cap:
        raise SwapImpossible(SwapCode.SIZE_CAP)
    floor = RESERVE_FLOOR_MIN if gives_own else limits.reserve_floor
    if view.taken.lowest - price.amount_out < floor:
        raise SwapImpossible(SwapCode.RESERVE_FLOOR)


def require_calm(view: View, price: Price, openings: Sequence[tuple[int, int]], breaker: Fraction) -> None:
    """The swap moves the price past `breaker` from none of these reserves (given, taken) of the last hour.

    Judged with every pending swap of its direction committed. Back toward a price of the last hour it may always go.
    Raises: SwapImpossible.
    """
    if view.rate is not None:
        return
    given, taken = view.given.highest + price.amount_in, view.taken.lowest - price.amount_out
    if any(taken * x < (1 - breaker) * given * y for x, y in openings):
        raise SwapImpossible(SwapCode.BREAKER_OPEN)
