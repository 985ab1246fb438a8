"""Place of a reader in the card list; opaque to clients.

A listing goes from the newest card to the oldest. A reading of changes goes in rounds: each round walks the cards
changed by a window of transactions, in order of change, and the next window begins where no older transaction was
open when this one began. So a change that commits late is returned in a later round, and none is ever lost; a card may
be returned twice.
"""

import base64
import binascii
import json
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec.structs import asdict

from .errors import CursorInvalid
from .rules import BIGINT_MAX


class ListingCursor(msgspec.Struct, frozen=True):
    """Place of a page that ended at the card `below`; `total` and `offset` are those of the pagination."""

    below: int
    total: int
    offset: int


class ChangesCursor(msgspec.Struct, frozen=True):
    """The round of changes from transaction `start` up to, not including, `stop`; the next one begins at `resume`.

    The first round has no `stop`. `at` (microseconds) and `above` say which card was returned last; a round not yet
    begun has neither, and its `stop` is still to be fixed.
    """

    start: int
    resume: int
    total: int
    offset: int
    stop: int | None = None
    at: int | None = None
    above: int | None = None

    @property
    def is_begun(self) -> bool:
        return self.at is not None

    def after(self, timestamp: datetime, card: int, returned: int) -> "ChangesCursor":
        """The same round, after a page of `returned` cards that ends with this card."""
        return ChangesCursor(
            self.start,
            self.resume,
            self.total,
            self.offset + returned,
            self.stop,
            microseconds(timestamp),
            card,
        )


Cursor = ListingCursor | ChangesCursor
_KINDS: dict[str, type[ListingCursor] | type[ChangesCursor]] = {"l": ListingCursor, "c": ChangesCursor}


def encode(cursor: Cursor) -> str:
    """The cursor as a client carries it."""
    kind = "l" if isinstance(cursor, ListingCursor) else "c"
    text = json.dumps([kind, *asdict(cursor).values()], separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def decode(text: str) -> Cursor:
    """The cursor that a client brings back. Raises: CursorInvalid."""
    try:
        raw = base64.urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))
        kind, *members = json.loads(raw)
        cursor = _KINDS[kind](*members)
    except (ValueError, TypeError, KeyError, RecursionError, binascii.Error):
        raise CursorInvalid(field="next") from None
    optional = members[4:] if kind == "c" else []
    required = members[: len(members) - len(optional)]
    whole = all(_is_bigint(member) for member in required)
    if not whole or not all(member is None or _is_bigint(member) for member in optional):
        raise CursorInvalid(field="next")
    if isinstance(cursor, ChangesCursor) and (cursor.at is None) != (cursor.above is None):
        raise CursorInvalid(field="next")
    return cursor


def microseconds(timestamp: datetime) -> int:
    """Microseconds since 1970, exactly."""
    since = timestamp - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def _is_bigint(member: Any) -> bool:
    return type(member) is int and 0 <= member <= BIGINT_MAX
