"""Acts of rooms above on peers: read the cards of one now, end the mirrors of one, and name the registries behind it."""

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

import msgspec

from hansa.foundation.plumbing.process.runtime import Runtime, Slot
from hansa.foundation.plumbing.storage.database import Tx

from .records import PeerRecord


class SyncOutcome(msgspec.Struct):
    """Result of one reading of a peer: items read, mirrors written, mirrors hidden, and the refusals by reason."""

    pulled: int = 0
    changed: int = 0
    hidden: int = 0
    refused: Counter[str] = msgspec.field(default_factory=Counter)

    def add(self, other: "SyncOutcome") -> None:
        """Count another reading as well."""
        self.pulled += other.pulled
        self.changed += other.changed
        self.hidden += other.hidden
        self.refused.update(other.refused)


class DiscoveredRegistry(msgspec.Struct, frozen=True):
    """A registry that is no peer: its cards come by the peer `relay_ledger_id`, at a hop distance of 2 or more.

    `registry_name` and `is_verified` are from its own address.
    """

    ledger_id: str
    registry_name: str | None
    relay_ledger_id: str
    hop_distance: int
    settlement_currency: str | None
    is_verified: bool


ReadDiscovered: TypeAlias = Callable[[Tx], Awaitable[Sequence[DiscoveredRegistry]]]
DISCOVERED: Slot[ReadDiscovered] = Slot("federation: the registries that are known by a peer")

SYNC_PEER: Slot[Callable[[Runtime, PeerRecord], Awaitable[SyncOutcome]]] = Slot("federation: read a peer now")
"""Reads everything that is new at a peer. Raises: OutgoingTrouble, PeerClosed, FederationOff."""

PEER_REMOVED: Slot[Callable[[Tx, PeerRecord], Awaitable[None]]] = Slot("federation: a peer is removed")
"""Called in the transaction in which the removal of a peer begins: its DIDs are unknown from then on."""

PEER_ENDED: Slot[Callable[[Tx, Runtime, PeerRecord], Awaitable[None]]] = Slot(
    "federation: a peer is deleted, and what is under way with it ends"
)
"""Called in the transaction that deletes the peer, before the row is deleted."""

PEER_SETTLED: Slot[Callable[[Tx, PeerRecord], Awaitable[bool]]] = Slot(
    "federation: whether nothing is under way with a peer"
)
"""Asked in the transaction that would delete the peer."""
