"""Arithmetic of levies and distributions, in whole numbers: what a division leaves is carried, so that no number of small amounts loses anything."""

from hansa.foundation.values.money import UNIT, Minor
from hansa.rooms.exchange.rules import BPS

from .records import Distribution, Revenue

DAILY_MIN = Minor(UNIT // 100)
"""Units from which a holder is paid without a claim."""
TYPES = ("transfer", "capture", "in", "swap")
"""Types of transactions whose credits are revenue."""
VERDICTS = ("SOLVENT", "LOW", "BREACH")
"""Results of the check of solvency, the best first."""


def due_of(revenue: int, of: Revenue) -> tuple[Minor, int]:
    """Units due on the revenue since the last levy, and the remainder of the division."""
    due, remainder = divmod(revenue * of.revenue_bps * of.held + of.remainder, of.total * BPS)
    return Minor(due), remainder


def distributed(units: int, held: int) -> Distribution:
    """Share of each point in these units; without points all is carried."""
    if not held:
        return Distribution(0, Minor(units))
    per_point, carried = divmod(units, held)
    return Distribution(per_point, Minor(carried))


def worst(verdicts: list[str]) -> str:
    """The worst of the verdicts on listings."""
    return max(verdicts, key=VERDICTS.index, default=VERDICTS[0])
