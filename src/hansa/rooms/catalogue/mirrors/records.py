"""Items that a peer sent of its agents, and the results of a page of them."""

from collections import Counter
from typing import Any, Literal, NamedTuple

import msgspec

from hansa.rooms.catalogue.rules import Findable

SkipReason = Literal[
    "item_invalid",
    "card_absent",
    "did_invalid",
    "did_namespace_mismatch",
    "repeated",
    "version_older",
    "card_invalid",
    "did_held_elsewhere",
    "quota_reached",
    "card_unknown",
]
"""Why an item of a page is left out; the others are applied all the same."""


class PeerItem(msgspec.Struct, frozen=True):
    """An item of a peer's page whose envelope is sound. Without a document it only says how the card is listed.

    `version` rises with every change of the card at its home.
    """

    did: str
    version: int
    document: dict[str, Any] | None
    is_active: bool
    unlisted: bool


class Home(NamedTuple):
    """Home of the cards of a page: the registry, the namespace proved for it, its currency."""

    source_registry: str
    trust_domain: str
    settlement_currency: str


class StoredVersion(NamedTuple):
    """The row that has the DID now."""

    source_registry: str | None
    version: int


class PeerCard(msgspec.Struct, frozen=True):
    """A peer's card as it is about to be written."""

    did: str
    version: int
    human_readable_id: str
    is_active: bool
    unlisted: bool
    is_bonded: bool
    is_encircled: bool
    content: Findable


class MirrorResult(msgspec.Struct):
    """Result of a page: cards written, items that changed nothing, mirrors hidden, items skipped and why.

    `refused_card` names the first invalid card by DID and version.
    """

    written: int = 0
    unchanged: int = 0
    hidden: int = 0
    skipped: Counter[SkipReason] = msgspec.field(default_factory=Counter)
    refused_card: str | None = None
