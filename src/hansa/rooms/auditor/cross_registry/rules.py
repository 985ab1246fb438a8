"""Comparing totals with a peer while money crosses. Pure.

**At a place.** The peer states what it has credited, with the place of its own chain at that moment. What was sent and confirmed with
receipts up to this place is the same, at any load. What is committed and not confirmed may be part of it or not.

**By bounds**, where a peer states no place, and for what the chain does not show. A total that one side reads later than the other can only
be greater, so that
- what the peer confirmed before <= what came in from it, read after; and the other way round;
- what came in on one side, read before <= what the other side committed out, read after.
Where neither side moved between, both are equalities. What lies outside these bounds exists on one side alone.
"""

import msgspec

Place = tuple[int, int]
"""Epoch and number of an entry of a chain."""


class Comparison(msgspec.Struct, frozen=True):
    """What cannot be so: units credited that nobody sent (`surplus`), and confirmed ones that are missing (`deficit`)."""

    surplus: int = 0
    deficit: int = 0

    def at_least(self, other: "Comparison") -> "Comparison":
        """The larger of two findings about the same totals."""
        return Comparison(max(self.surplus, other.surplus), max(self.deficit, other.deficit))

    def plus(self, other: "Comparison") -> "Comparison":
        """The findings about two directions."""
        return Comparison(self.surplus + other.surplus, self.deficit + other.deficit)


ALIKE = Comparison()
"""The totals agree."""


class Totals(msgspec.Struct, frozen=True):
    """What a registry states of one corridor, in minor units: committed out, committed in, and out as far as confirmed.

    `place` is where its chain stands; None: it does not say. `judged` is what it found last at a place of the reader's chain.
    """

    out: int
    in_: int
    confirmed: int
    place: Place | None = None
    judged: Comparison = ALIKE
    swaps: tuple["SwapTotals", ...] = ()


class SwapTotals(msgspec.Struct, frozen=True):
    """As `Totals`, of what swaps moved in one currency: given by their senders, or paid to their receivers."""

    currency: str
    out: int
    in_: int
    confirmed: int

    @property
    def totals(self) -> Totals:
        """The three amounts."""
        return Totals(self.out, self.in_, self.confirmed)


def compare_swaps(before: Totals, stated: Totals, after: Totals) -> dict[str, Comparison]:
    """As `compare`, for each currency of which both registries state what swaps moved."""
    theirs = {one.currency: one.totals for one in stated.swaps}
    earlier = {one.currency: one.totals for one in before.swaps}
    nothing = Totals(0, 0, 0)
    return {
        one.currency: compare(earlier.get(one.currency, nothing), theirs[one.currency], one.totals)
        for one in after.swaps
        if one.currency in theirs
    }


def compare(before: Totals, stated: Totals, after: Totals) -> Comparison:
    """Own totals read before the peer stated its own, and own totals read after that."""
    surplus = max(0, stated.in_ - after.out) + max(0, before.in_ - stated.out)
    deficit = max(0, before.confirmed - stated.in_) + max(0, stated.confirmed - after.in_)
    return Comparison(surplus, deficit)


def compare_at_place(stated_in: int, confirmed: int, unconfirmed: int) -> Comparison:
    """What the peer credited up to a place, what it confirmed up to there, and what it may have credited besides."""
    return Comparison(max(0, stated_in - confirmed - unconfirmed), max(0, confirmed - stated_in))
