"""Comparing totals with a peer while money crosses. Pure.

**At a place.** The peer states the units that it has credited, with the place of its own chain at that moment. The units sent and confirmed with
receipts up to this place are the same, at any load. Units committed and not confirmed may be part of them or not.

**By bounds**, where a peer states no place, and for totals that the chain does not show. A total that one side reads later than the other can only
be greater, so that
- the units that the peer confirmed before <= the units that came in from it, read after; and the other way round;
- the units that came in on one side, read before <= those that the other side committed out, read after.
Where neither side moved between, both are equalities. Units outside these bounds exist on one side alone.
"""

import msgspec

Place = tuple[int, int]
"""Epoch and number of an entry of a chain."""


class Comparison(msgspec.Struct, frozen=True):
    """Differences that cannot be: units credited that nobody sent (`surplus`), and confirmed ones that are missing (`deficit`)."""

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
    """Statement of a registry on one corridor, in minor units: committed out, committed in, and out as far as confirmed.

    `place` is the place of its chain, None where not stated. `judged` is its last finding at a place of the reader's chain.
    """

    out: int
    in_: int
    confirmed: int
    place: Place | None = None
    judged: Comparison = ALIKE
    swaps: tuple["SwapTotals", ...] = ()


class SwapTotals(msgspec.Struct, frozen=True):
    """Totals of swaps in one currency: given by their senders, or paid to their receivers. See `Totals`."""

    currency: str
    out: int
    in_: int
    confirmed: int

    @property
    def totals(self) -> Totals:
        """The three amounts."""
        return Totals(self.out, self.in_, self.confirmed)


def compare_swaps(before: Totals, stated: Totals, after: Totals) -> dict[str, Comparison]:
    """Compare with `compare` each currency for which both registries state swaps."""
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


def compare_at_place(credited: int, confirmed: int, unconfirmed: int) -> Comparison:
    """Compare the units that the peer credited up to a place with those that it confirmed up to there and may have credited besides."""
    return Comparison(max(0, credited - confirmed - unconfirmed), max(0, confirmed - credited))
