"""Place of a peer in a feed of this registry; opaque to peers.

A feed is in the order of the transactions that changed its cards, and a page ends before the oldest open transaction: a change that
commits late is always after the place. Places of another epoch mean nothing: the peer then reads from the start.
"""

import base64
import binascii
import json
from datetime import UTC, datetime

import msgspec
from msgspec.structs import astuple

from hansa.rooms.catalogue.errors import CursorInvalid
from hansa.rooms.catalogue.rules import BIGINT_MAX

KIND = "p"


class Place(msgspec.Struct, frozen=True):
    """The card `card`, changed by the transaction `position`, was the last one read; 0, 0 is the start."""

    epoch: int
    position: int = 0
    card: int = 0


def encode(place: Place) -> str:
    """The place as a peer carries it."""
    text = json.dumps([KIND, *astuple(place)], separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def decode(text: str) -> Place:
    """The place that a peer brings back. Raises: CursorInvalid."""
    try:
        raw = base64.urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))
        kind, *members = json.loads(raw)
    except (ValueError, TypeError, RecursionError, binascii.Error):
        raise CursorInvalid(field="since") from None
    numbers = [member for member in members if type(member) is int and 0 <= member <= BIGINT_MAX]
    if kind != KIND or len(members) != len(numbers) or len(numbers) != len(astuple(Place(0))):
        raise CursorInvalid(field="since")
    return Place(*numbers)


def moment_in(text: str) -> datetime | None:
    """The time that `since` states, in UTC; None where it is a place. Raises: CursorInvalid out of range."""
    try:
        timestamp = datetime.fromisoformat(text.replace(" ", "+"))
    except ValueError:
        return None
    try:
        return timestamp.replace(tzinfo=UTC) if timestamp.tzinfo is None else timestamp.astimezone(UTC)
    except OverflowError:
        raise CursorInvalid(field="since") from None
