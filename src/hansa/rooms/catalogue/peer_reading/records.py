"""A peer that is read, how far it was read, and a page of it that was judged."""

from collections import Counter
from typing import Any, NamedTuple

import msgspec

from hansa.rooms.catalogue.relays.records import DeclaredHome


class Progress(NamedTuple):
    """How far a peer was read. The places are None before the first page."""

    epoch: int | None
    export_version: int | None
    cards_next: str | None
    acts_next: str | None
    page_size: int
    is_reconciled_now: bool


class CardsDue(NamedTuple):
    """A peer whose cards are due to be read: the place in its feed, None before the first page, and how it exported them."""

    peer_id: int
    since: str | None
    epoch: int | None
    export_version: int | None
    is_reconciled_now: bool


class PageRefused(Exception):
    """The page is refused as a whole; `reason` is counted."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class KeyUnknown(PageRefused):
    """Items of the page are signed under keys that are not known; `signed_under` are the headers of their signatures."""

    def __init__(self, signed_under: list[str]) -> None:
        super().__init__("key_unknown")
        self.signed_under = signed_under


class Origin(NamedTuple):
    """The peer that is read: its ledger id, the namespace proved for it, and its keys by kid."""

    ledger_id: str
    namespace: str
    keys: dict[str, bytes]


class Stated(NamedTuple):
    """The status of an agent at its home, as of a version."""

    did: str
    version: int
    status: str


class JudgedPage(msgspec.Struct):
    """A page whose envelope is sound. `items` are those whose signatures hold; `refused` counts the others by reason.

    `unlisted` are the whole items of unlisted agents that have no mirror yet. `refused_card` names the first refused card by DID and version: it is evidence on the peer.
    """

    next: str
    more: bool
    epoch: int
    export_version: int
    size: int
    items: list[dict[str, Any]] = msgspec.field(default_factory=list)
    unlisted: list[dict[str, Any]] = msgspec.field(default_factory=list)
    refused: Counter[str] = msgspec.field(default_factory=Counter)
    refused_card: str | None = None

    @property
    def statuses(self) -> list[Stated]:
        """Return the statements of the items about their agents."""
        return [Stated(item["did"], item["version"], item["status"]) for item in self.items]


class RelayedPage(msgspec.Struct, frozen=True):
    """A page whose envelope is sound. `items` are those of named homes, by ledger id, not verified yet."""

    next: str
    more: bool
    epoch: int
    size: int
    homes: dict[str, DeclaredHome]
    items: dict[str, list[Any]]
    refused: Counter[str]
