"""The block `fees.fx` of the registry card: the terms on which a registry with pools swaps."""

from fractions import Fraction
from typing import Any

import msgspec

from hansa.foundation.values.money import Minor, format_amount

from .card_content import percent


class SwapTerms(msgspec.Struct, frozen=True):
    """Terms of swaps. Amounts in minor units of the registry's currency, shares as fractions of 1. `note` names the currencies to swap."""

    rate_mode: str
    fee: Fraction
    size_cap: Minor
    reserve_floor: Minor
    slippage_max: Fraction
    breaker: Fraction
    note: str

    def block(self, currency: str) -> dict[str, Any]:
        """Return the block in the form of the card. The whole fee stays in the pool."""
        return {
            "enabled": True,
            "currency": currency,
            "rate_mode": self.rate_mode,
            "fee_pct": percent(self.fee),
            "fee_split": {"pool_retained_pct": 100, "fee_collector_pct": 0},
            "size_cap": format_amount(self.size_cap),
            "reserve_floor": format_amount(self.reserve_floor),
            "slippage_max": percent(self.slippage_max),
            "breaker_pct": percent(self.breaker),
            "note": self.note[:500],
        }
