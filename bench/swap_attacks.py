"""Attackers of a pool, scripted against the prices of the service: their gains."""

from fractions import Fraction

from hansa.foundation.values.money import UNIT, Minor
from hansa.rooms.transfers.pools.pricing import (
    Limits,
    Reserve,
    SwapImpossible,
    View,
    least_output,
    price_in,
    require_calm,
)

RESERVE: int = 10_000 * UNIT
BREAKER = Fraction(1, 5)
LIMITS = Limits(Minor(1_000 * UNIT), Minor(10**6), Fraction(1, 50), BREAKER)
STEPS = 200


class Market:
    """A pool of which each swap is decided at once. `one` and `two` are its reserves."""

    def __init__(self) -> None:
        self.one = self.two = RESERVE
        self.openings = [(RESERVE, RESERVE)]

    def swap(self, amount: int, *, gives_one: bool, least: int = 0) -> int:
        """Return the amount paid for `amount`. Raises: SwapImpossible."""
        view = self.view(gives_one=gives_one)
        price = price_in(view, amount)
        openings = self.openings if gives_one else [(two, one) for one, two in self.openings]
        require_calm(view, price, openings, BREAKER)
        if price.amount_out < least:
            return 0
        change = (amount, -price.amount_out) if gives_one else (-price.amount_out, amount)
        self.one, self.two = self.one + change[0], self.two + change[1]
        return price.amount_out

    def view(self, *, gives_one: bool) -> View:
        """The pool as a swap of that direction sees it."""
        given, taken = (self.one, self.two) if gives_one else (self.two, self.one)
        return View(Reserve(given), Reserve(taken))


def attacks() -> list[str]:
    """A line for each attack."""
    lines = []
    for share in (Fraction(1, 1000), Fraction(1, 100), Fraction(1, 20)):
        bounded, bare, quoted = (_best_sandwich(share, bound) for bound in ("slippage", "none", "quote"))
        lines.append(
            f"sandwich of a victim of {float(share):.1%} of the reserve: earns {bare:+.4f} % of its amount without a bound,"
            f" {bounded:+.4f} % with slippage_max 2 %, {quoted:+.4f} % with a quote"
        )
    lines.append(f"there and back in 50 pieces: {_there_and_back():+.4f} % of what was put in")
    first, day = _drained(1), _drained(24)
    lines.append(
        f"drain with units issued for it: {first:.1%} of the other reserve within an hour, {day:.1%} within a day"
        " (the breaker is what slows it)"
    )
    return lines


def _best_sandwich(share: Fraction, bound: str) -> float:
    """The most that an attacker earns around one swap, in percent of the victim's amount."""
    victim = int(RESERVE * share)
    return max(_sandwich(victim, RESERVE * step // (10 * STEPS), bound) for step in range(1, STEPS)) * 100


def _sandwich(victim: int, ahead: int, bound: str) -> float:
    market = Market()
    seen = market.view(gives_one=True)
    least = {"none": 0, "quote": price_in(seen, victim).amount_out}.get(bound)
    if least is None:
        least = least_output(seen, victim, LIMITS.slippage_max)
    try:
        bought = market.swap(ahead, gives_one=True)
        market.swap(victim, gives_one=True, least=least)
        back = market.swap(bought, gives_one=False)
    except SwapImpossible:
        return -1.0
    return (back - ahead) / victim


def _there_and_back() -> float:
    market, piece = Market(), RESERVE // 1000
    bought = [market.swap(piece, gives_one=True) for _ in range(50)]
    returned = sum(market.swap(amount, gives_one=False) for amount in bought)
    return (returned - 50 * piece) / (50 * piece) * 100


def _drained(hours: int) -> float:
    """Return the share of the other reserve that an attacker with endless units has after so many hours of the breaker."""
    market = Market()
    for _ in range(hours):
        market.openings = [(market.one, market.two)]
        amount = 1_000 * UNIT
        while amount:
            try:
                market.swap(amount, gives_one=True)
            except SwapImpossible:
                amount //= 2
    return 1 - market.two / RESERVE
