"""Price of a swap, in exact fractions, and the events that must never happen to a pool."""

import math
import random
from dataclasses import dataclass, field
from fractions import Fraction

from hansa.rooms.transfers.pools import pricing
from hansa.rooms.transfers.pools.pricing import Price, Reserve, SwapImpossible, View

FEE = Fraction(1, 200)


def half_even(value: Fraction) -> int:
    """Fractions round half to even by themselves."""
    return round(value)


def exact_in(x: int, y: int, dx: int, rate: Fraction | None) -> tuple[int, int]:
    """Output and fee of `dx`, for the highest reserve of the input and the lowest of the output."""
    gross = math.floor(dx * rate if rate else Fraction(y * dx, x + dx))
    fee = half_even(gross * FEE)
    return gross - fee, fee


def exact_out(x: int, y: int, dy: int, rate: Fraction | None) -> tuple[int, int]:
    """Input and fee of at least `dy`."""
    gross = math.ceil(dy)
    while gross - half_even(gross * FEE) < dy:
        gross += max(1, (dy - gross + half_even(gross * FEE)) // 2)
    while gross > 1 and gross - 1 - half_even((gross - 1) * FEE) >= dy:
        gross -= 1
    needed = gross / rate if rate else Fraction(x) * gross / (y - gross)
    return math.ceil(needed), half_even(gross * FEE)


def random_reserve(rng: random.Random) -> int:
    """From tiny to near the whole supply."""
    return rng.randint(1, 10 ** rng.choice((1, 2, 3, 6, 9, 12, 17)))


def random_view(rng: random.Random) -> View:
    """A pool with pending swaps, or one with the operator's rate."""
    x, y = random_reserve(rng), random_reserve(rng)
    given = Reserve(x, rng.choice((0, rng.randint(0, x))), rng.choice((0, rng.randint(0, x))))
    taken = Reserve(y, rng.choice((0, rng.randint(0, y))), rng.choice((0, rng.randint(0, y))))
    rate = Fraction(rng.randint(1, 10**6), rng.randint(1, 10**6)) if rng.random() < 0.2 else None
    return View(given, taken, rate)


def differences(rng: random.Random, count: int) -> list[str]:
    """Return the differences between the prices of the service and of the oracle, in so many random pools."""
    found = []
    for _ in range(count):
        view, dx = random_view(rng), random_reserve(rng)
        x, y = view.given.highest, view.taken.lowest
        try:
            price = pricing.price_in(view, dx)
        except SwapImpossible:
            assert y <= 0 or exact_in(x, y, dx, view.rate)[0] <= 0, "refused what the oracle pays"
            continue
        if (price.amount_out, price.fee) != exact_in(x, y, dx, view.rate):
            found.append(f"in {view} {dx}")
        if view.taken.lowest > price.amount_out + price.fee + 1:
            asked = pricing.price_out(view, price.amount_out)
            if (asked.amount_in, asked.fee) != exact_out(x, y, price.amount_out, view.rate):
                found.append(f"out {view} {price.amount_out}")
        slippage = Fraction(rng.randint(0, 100), 1000)
        least = max(1, math.floor(dx * view.spot * (1 - slippage)))
        if pricing.least_output(view, dx, slippage) != least:
            found.append(f"least {view} {dx}")
    return found


@dataclass
class Pool:
    """A pool of two units as it is run: prices now, outcomes later."""

    reserves: dict[str, Reserve]
    pending: list[tuple[str, str, Price]] = field(default_factory=list)

    def view(self, given: str) -> View:
        (taken,) = set(self.reserves) - {given}
        return View(self.reserves[given], self.reserves[taken])

    @property
    def k(self) -> int:
        one, other = (reserve.settled for reserve in self.reserves.values())
        return one * other

    def prepare(self, given: str, amount: int) -> Price:
        (taken,) = set(self.reserves) - {given}
        price = pricing.price_in(self.view(given), amount)
        self._add(given, settled=0, coming=price.amount_in, going=0)
        self._add(taken, settled=0, coming=0, going=price.amount_out)
        self.pending.append((given, taken, price))
        return price

    def decide(self, place: int, *, committed: bool) -> None:
        given, taken, price = self.pending.pop(place)
        self._add(given, settled=committed * price.amount_in, coming=-price.amount_in, going=0)
        self._add(taken, settled=-committed * price.amount_out, coming=0, going=-price.amount_out)

    def _add(self, unit: str, *, settled: int, coming: int, going: int) -> None:
        was = self.reserves[unit]
        self.reserves[unit] = Reserve(was.settled + settled, was.pending_in + coming, was.pending_out + going)
