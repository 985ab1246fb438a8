"""Readings of own cards for peers."""

from collections.abc import Sequence
from hashlib import sha256
from typing import NamedTuple

from hansa.rooms.catalogue.records import Card


class ExportedCard(NamedTuple):
    """An own card with the version under which peers know it, and its place in the feed."""

    card: Card
    version: int
    position: int


class FeedPage(NamedTuple):
    """Cards of a page, whether more follow, and the last card that was looked at: the next page begins after it."""

    cards: list[ExportedCard]
    more: bool
    last: ExportedCard | None


class Range(NamedTuple):
    """The cards whose DIDs hash to this prefix: how many, and the hash of their DIDs and versions."""

    prefix: str
    cards: int
    digest: str


def digest_of_ranges(ranges: Sequence[Range]) -> str:
    """One hash for ranges: equal where every card of them has the same version."""
    lines = "".join(f"{part.prefix} {part.cards} {part.digest}\n" for part in ranges)
    return sha256(lines.encode()).hexdigest()
