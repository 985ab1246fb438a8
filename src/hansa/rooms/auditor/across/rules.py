"""Comparing totals with a peer while money crosses. Pure.

A total that one side reads later than the other can only be greater, so that at any load:
- what the peer confirmed before <= what came in from it, read after; and the other way round;
- what came in on one side, read before <= what the other side committed out, read after.
Where neither side moved between, both are equalities. What lies outside these bounds exists on one side alone.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Totals:
    """What a registry states of one corridor, in minor units: committed out, committed in, and out as far as confirmed."""

    out: int
    in_: int
    confirmed: int


@dataclass(frozen=True)
class Comparison:
    """What cannot be so: units credited that nobody sent (`surplus`), and confirmed ones that are missing (`deficit`)."""

    surplus: int
    deficit: int


def compare(before: Totals, stated: Totals, after: Totals) -> Comparison:
    """Own totals read before the peer stated its own, and own totals read after that."""
    surplus = max(0, stated.in_ - after.out) + max(0, before.in_ - stated.out)
    deficit = max(0, before.confirmed - stated.in_) + max(0, stated.confirmed - after.in_)
    return Comparison(surplus, deficit)
