"""Conditions of a list on its cards, chosen from fixed fragments of SQL; every value is bound."""

from typing import Any

import msgspec

from .cursor import ChangesCursor
from .records import ListedCard

# Where cards must be looked at one by one, they are counted up to here; where their texts must be read or their changes
# are followed, up to there. What is in more cards than that is soon found among the newest of a million.
LOOKED_AT_MAX = 30_000
READ_MAX = 10_000
TEXTS_END = "\x1f"
# An index serves this expression, word for word.
_LISTED_TEXT = "(name_text || chr(31) || description_text)"


class Conditions(msgspec.Struct, frozen=True):
    """Conditions of a listing on a card: fragments of SQL with the values they bind, from `$1` on.

    While `by_class` holds, whole classes of cards satisfy them or not; else cards are counted up to `counted_max`.
    """

    fragments: tuple[str, ...]
    values: tuple[Any, ...]
    by_class: bool = True
    counted_max: int = LOOKED_AT_MAX

    def having(
        self, fragment: str, *values: Any, by_class: bool = False, counted_max: int = LOOKED_AT_MAX
    ) -> "Conditions":
        """One condition more; its values stand as `{0}`, `{1}` … in the fragment."""
        places = [f"${len(self.values) + number}" for number in range(1, len(values) + 1)]
        return Conditions(
            (*self.fragments, fragment.format(*places)),
            (*self.values, *values),
            self.by_class and by_class,
            min(self.counted_max, counted_max),
        )

    def are_all(self, counted: int) -> bool:
        """Return whether so many were counted because there are no more."""
        return self.by_class or counted <= self.counted_max

    @property
    def sql(self) -> str:
        return " AND ".join(self.fragments)


EVERY_CARD = Conditions(("true",), ())


def listed_text(comparison: str) -> str:
    """Return a condition on the text that lists search in.

    Two indexes serve it: that of the texts, and the short one of the cards that are not in it yet.
    """
    compared = f"{_LISTED_TEXT} {comparison}"
    return f"((texts_sorted AND {compared}) OR (NOT texts_sorted AND {compared}))"


def in_round(conditions: Conditions, round_: ChangesCursor) -> Conditions:
    """Cards changed by the round's transactions, after the card returned last."""
    narrowed = conditions.having("changed_xid >= {0}", round_.start) if round_.start else conditions
    if round_.stop is not None:
        narrowed = narrowed.having("changed_xid < {0}", round_.stop)
    if round_.is_begun:
        # Whole numbers: a timestamp from floating point seconds would miss by a microsecond.
        instant = "timestamptz 'epoch' + {0} * interval '1 microsecond'"
        narrowed = narrowed.having("(c.updated_at, c.id) > (" + instant + ", {1})", round_.at, round_.above)
    return narrowed


def up_to(conditions: Conditions, last: ListedCard) -> Conditions:
    """Narrow the conditions to the cards changed no later than this one."""
    return conditions.having("(c.updated_at, c.id) <= ({0}, {1})", last.updated_at, last.card_id)
