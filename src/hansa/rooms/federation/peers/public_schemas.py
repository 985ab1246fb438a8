"""Shapes of peers for everyone: the roster, the structure of the federation, cached cards."""

from datetime import datetime
from typing import Any, Literal

from msgspec.structs import asdict
from pydantic import Field

from hansa.foundation.values.lazy_model import LazyModel

from .records import PeerRecord, PeerStatus, PeerType
from .schemas import CardVerdictOut
from .topology import Edge, Node, Topology


class RosterPeer(LazyModel):
    """A peer as everyone sees it."""

    name: str
    trust_domain: str
    registry_url: str
    peer_type: PeerType
    status: PeerStatus
    hop_distance: int
    settlement_currency: str | None
    last_synced_at: datetime | None

    @classmethod
    def of(cls, peer: PeerRecord) -> "RosterPeer":
        return cls(
            name=peer.name,
            trust_domain=peer.trust_domain,
            registry_url=peer.registry_url,
            peer_type=peer.peer_type,
            status=peer.status,
            hop_distance=peer.hop_distance,
            settlement_currency=peer.settlement_currency,
            last_synced_at=peer.last_synced_at,
        )


class RosterOut(LazyModel):
    """The approved peers of this registry, by name."""

    peers: list[RosterPeer]
    count: int


class NodeOut(LazyModel):
    """A registry of the federation."""

    name: str
    trust_domain: str
    ledger_id: str | None
    tier: str | None = Field(
        description="Null before its registry card was verified, and of a registry that is no peer."
    )
    status: str
    settlement_currency: str | None
    hop_distance: int = Field(
        description="0: this registry; 1: a peer; 2 or more: known by a peer, whose name is the start of its connection."
    )

    @classmethod
    def of(cls, node: Node) -> "NodeOut":
        return cls.model_validate(asdict(node))


class EdgeOut(LazyModel):
    """A connection between two registries, which `from` and `to` name."""

    start: str = Field(serialization_alias="from")
    to: str
    kind: PeerType
    status: str
    lag_seconds: int | None

    @classmethod
    def of(cls, edge: Edge) -> "EdgeOut":
        return cls.model_validate(asdict(edge))


class TopologyOut(LazyModel):
    """The federation as this registry sees it."""

    self: str = Field(description="The name of this registry.")
    nodes: list[NodeOut]
    edges: list[EdgeOut]
    as_of: datetime

    @classmethod
    def of(cls, topology: Topology) -> "TopologyOut":
        return cls(
            self=topology.own_name,
            nodes=[NodeOut.of(node) for node in topology.nodes],
            edges=[EdgeOut.of(edge) for edge in topology.edges],
            as_of=topology.as_of,
        )


class PublicCardOut(LazyModel):
    """The registry card of this registry, or the verified one of a peer."""

    card: dict[str, Any]
    source: Literal["local", "peer"]
    fetched_at: datetime | None = Field(
        description="When the card of the peer was read; null for the own one."
    )
    verdicts: list[CardVerdictOut] = Field(
        description="The steps in which this registry judged the card of the peer."
    )
