"""What is read of own cards for peers."""

from typing import NamedTuple

from hansa.rooms.catalogue.records import Card


class ExportedCard(NamedTuple):
    """An own card with the version under which peers know it, and its place in the feed."""

    card: Card
    version: int
    position: int


class FeedPage(NamedTuple):
    """Cards of a page, and whether more follow."""

    cards: list[ExportedCard]
    more: bool


class Range(NamedTuple):
    """The cards whose DIDs hash to this prefix: how many, and the hash of their DIDs and versions."""

    prefix: str
    cards: int
    digest: str
