"""Attackers of a pool, scripted against the prices of swaps: their gains under the limits of a registry."""

from fractions import Fraction

import msgspec

from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.values.money import UNIT, Minor, format_amount
from hansa.rooms import transfers
from hansa.rooms.transfers import SwapImpossible

from .tables import Outcome, Table

RESERVE = Minor(10_000 * UNIT)
STEPS = 200
SHARES = (Fraction(1, 1000), Fraction(1, 100), Fraction(1, 20))
"""Amounts of the victim of a sandwich, as parts of the reserve."""
PIECES = 50
REFUSED = -1.0


class Market(msgspec.Struct):
    """A pool of which each swap is decided at once. `one` and `two` are its reserves, `openings` those of the last hour."""

    limits: transfers.PoolLimits
    one: int
    two: int
    openings: list[tuple[int, int]]

    def swap(self, amount: int, *, gives_one: bool, least: int = 0) -> int:
        """Return the amount paid for `amount`. Raises: SwapImpossible."""
        view = self.view(gives_one=gives_one)
        price = transfers.price_of_swap(view, amount)
        openings = self.openings if gives_one else [(two, one) for one, two in self.openings]
        transfers.require_calm_pool(view, price, openings, self.limits.breaker)
        if price.amount_out < least:
            return 0
        change = (amount, -price.amount_out) if gives_one else (-price.amount_out, amount)
        self.one, self.two = self.one + change[0], self.two + change[1]
        return price.amount_out

    def view(self, *, gives_one: bool) -> transfers.PoolView:
        """The pool as a swap of that direction sees it."""
        given, taken = (self.one, self.two) if gives_one else (self.two, self.one)
        return transfers.PoolView(transfers.PoolReserve(given), transfers.PoolReserve(taken))


class Attacker(msgspec.Struct, frozen=True):
    """An attacker of a pool with these limits, both of whose reserves are `reserve` minor units."""

    limits: transfers.PoolLimits
    reserve: Minor

    def best_sandwich(self, share: Fraction, bound: str) -> float:
        """Return the most that it earns around one swap, in percent of the victim's amount. The victim is bound by `none`, `slippage` or `quote`."""
        victim = int(self.reserve * share)
        ahead = [self.reserve * step // (10 * STEPS) for step in range(1, STEPS)]
        within = [one for one in ahead if one <= self.limits.size_cap]
        return max((self._sandwich(victim, one, bound) for one in within), default=REFUSED) * 100

    def round_trip(self) -> float:
        """Return what it earns by a round trip in pieces, in percent of what it puts in."""
        market, piece = self._market(), min(self.reserve // 1000, self.limits.size_cap)
        bought = [market.swap(piece, gives_one=True) for _ in range(PIECES)]
        returned = sum(market.swap(amount, gives_one=False) for amount in bought)
        return (returned - PIECES * piece) / (PIECES * piece) * 100

    def drained(self, hours: int) -> float:
        """Return the share of the other reserve that it has with endless units after so many hours of the breaker."""
        market = self._market()
        for _ in range(hours):
            market.openings = [(market.one, market.two)]
            amount = int(self.limits.size_cap)
            while amount:
                try:
                    market.swap(amount, gives_one=True)
                except SwapImpossible:
                    amount //= 2
        return 1 - market.two / self.reserve

    def _sandwich(self, victim: int, ahead: int, bound: str) -> float:
        market = self._market()
        seen = market.view(gives_one=True)
        least = {"none": 0, "quote": transfers.price_of_swap(seen, victim).amount_out}.get(bound)
        if least is None:
            least = transfers.least_swap_output(seen, victim, self.limits.slippage_max)
        try:
            bought = market.swap(ahead, gives_one=True)
            market.swap(victim, gives_one=True, least=least)
            back = market.swap(bought, gives_one=False)
        except SwapImpossible:
            return REFUSED
        return (back - ahead) / victim

    def _market(self) -> Market:
        return Market(self.limits, self.reserve, self.reserve, [(self.reserve, self.reserve)])


def outcome(settings: Settings, reserve: Minor = RESERVE) -> Outcome:
    """Return the gains of each attack under the limits of these settings, for a pool whose reserves are `reserve`."""
    attacker = Attacker(transfers.pool_limits(settings), reserve)
    rows = [
        [
            f"sandwich around a swap of {float(share):.1%} of the reserve",
            *(f"{attacker.best_sandwich(share, bound):+.4f} %" for bound in ("none", "slippage", "quote")),
        ]
        for share in SHARES
    ]
    sandwiches = Table(
        (
            "Attack",
            "Victim without a bound",
            f"With FX_SLIPPAGE_MAX {settings.fx_slippage_max}",
            "With a quote",
        ),
        rows,
    )
    others = Table(
        ("Attack", "Gain"),
        [
            [f"round trip in {PIECES} pieces", f"{attacker.round_trip():+.4f} % of what was put in"],
            ["drain with endless units, within an hour", f"{attacker.drained(1):.1%} of the other reserve"],
            ["drain with endless units, within a day", f"{attacker.drained(24):.1%} of the other reserve"],
        ],
    )
    note = f"Reserves of {format_amount(reserve)} units; gains of a sandwich are parts of the victim's amount, and negative where the attacker loses."
    breaker = f"A drain is slowed by FX_BREAKER {settings.fx_breaker} and FX_SIZE_CAP {settings.fx_size_cap}."
    return Outcome([(sandwiches, [note]), (others, [breaker])])
