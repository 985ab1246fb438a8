"""A pool as this registry keeps it, and the limits that it sets."""

from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Literal

import msgspec

from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.values.money import ZERO, Minor, parse_amount

from .pricing import Limits, Reserve, SwapCode, SwapImpossible, View

Mode = Literal["pool", "fixed"]


class Pool(msgspec.Struct, frozen=True):
    """The pool shared with one other registry; minor units of the own and of the foreign currency.

    `peer` is the SPIFFE id, `frame` the ledger id of the other registry. `rate` is in units of the other currency for one unit of that of the home.
    """

    peer: str
    frame: str
    currency: str
    is_home: bool
    mode: Mode
    rate: Decimal | None
    proposed: Minor | None
    reserve_own: Minor
    reserve_foreign: Minor
    in_own: Minor
    out_own: Minor
    in_foreign: Minor
    out_foreign: Minor
    opened_at: datetime

    @classmethod
    def new(
        cls,
        peer: str,
        frame: str,
        currency: str,
        *,
        is_home: bool,
        mode: Mode,
        rate: Decimal | None,
        proposed: Minor,
        reserve_foreign: Minor = ZERO,
    ) -> "Pool":
        """A pool without an own reserve; the database says when it was opened."""
        nothing = (ZERO, reserve_foreign, ZERO, ZERO, ZERO, ZERO, datetime.now(UTC))
        return cls(peer, frame, currency, is_home, mode, rate, proposed, *nothing)

    @property
    def is_busy(self) -> bool:
        """Return whether a swap is pending."""
        return (self.in_own, self.out_own, self.in_foreign, self.out_foreign) != (0, 0, 0, 0)

    @property
    def own(self) -> Reserve:
        """The reserve of the own currency."""
        return Reserve(self.reserve_own, self.in_own, self.out_own)

    @property
    def foreign(self) -> Reserve:
        """The reserve of the other currency."""
        return Reserve(self.reserve_foreign, self.in_foreign, self.out_foreign)

    def view(self, *, gives_own: bool) -> View:
        """The pool as a swap of that direction sees it. Raises: SwapImpossible, without a rate in fixed mode."""
        rate = self.fixed_rate
        if gives_own:
            return View(self.own, self.foreign, rate)
        return View(self.foreign, self.own, None if rate is None else 1 / rate)

    @property
    def fixed_rate(self) -> Fraction | None:
        """Foreign units for one own unit, as the operator of the home set it; None in pool mode. Raises: SwapImpossible."""
        if self.mode == "pool":
            return None
        if self.rate is None:
            raise SwapImpossible(SwapCode.RATE_MISSING)
        return Fraction(self.rate) if self.is_home else 1 / Fraction(self.rate)


def limits_of(settings: Settings) -> Limits:
    """The limits that this registry sets for its own currency."""
    return Limits(
        size_cap=parse_amount(settings.fx_size_cap),
        reserve_floor=parse_amount(settings.fx_reserve_floor),
        slippage_max=Fraction(settings.fx_slippage_max),
        breaker=Fraction(settings.fx_breaker),
    )


class Minute(msgspec.Struct, frozen=True):
    """The reserves before the first change of a minute, and the fees that its swaps left in them; minor units."""

    minute: datetime
    reserve_own: Minor
    reserve_foreign: Minor
    swaps: int
    fees_own: Minor
    fees_foreign: Minor
