"""Shapes of peers, for administrators and on the command line.

Shapes of peers for everyone: the roster, the structure of the federation, cached cards.
"""

from datetime import datetime
from typing import Annotated, Any, Literal

from msgspec.structs import asdict
from pydantic import ConfigDict, Field

from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.money import Amount, format_amount, parse_amount
from hansa.foundation.values.paging import Page, Pagination
from hansa.foundation.values.request_body import RequestBody

from .reading import PeerView
from .records import NET_IN_LIMIT_DEFAULT, Approval, PeerRecord, PeerStatus, PeerType, TrustState
from .topology import Edge, Node, Topology

NAME_MAX_CHARACTERS = 253
REASON_MAX_CHARACTERS = 2000
BUNDLE_MAX_CHARACTERS = 256 * 1024
NetInLimit = Annotated[
    Amount | None,
    Field(
        description="Units that the peer may bring in more than it takes out. Absent: 10000. Null: unlimited."
    ),
]


class PeerActIn(LazyModel):
    """An empty object."""

    model_config = ConfigDict(extra="forbid")


class PeerReasonIn(LazyModel):
    """Why a peer is put under quarantine or released; kept in the audit log."""

    reason: Annotated[str, Field(min_length=1, max_length=REASON_MAX_CHARACTERS)]


class PeerIn(RequestBody):
    """A peer to add by hand; its trust bundle was compared with that of the other registry."""

    registry_url: Annotated[str, Field(min_length=1, max_length=2048)]
    bundle: Annotated[
        str,
        Field(
            min_length=1,
            max_length=BUNDLE_MAX_CHARACTERS,
            description="Trust bundle of the other registry: certificates in PEM, or the SPIFFE form in JSON.",
        ),
    ]
    peer_type: PeerType = "direct_peer"
    name: Annotated[
        str | None,
        Field(
            max_length=NAME_MAX_CHARACTERS,
            description="The registry_name that the registry has to answer to.",
        ),
    ] = None
    net_in_limit: NetInLimit = None

    def limit(self) -> int | None:
        """The limit in minor units, None: unlimited."""
        return minor_limit(self.net_in_limit, is_stated="net_in_limit" in self.model_fields_set)


class NetInLimitIn(RequestBody):
    """The limit of a peer."""

    net_in_limit: Annotated[
        Amount | None,
        Field(description="Units that the peer may bring in more than it takes out. Null: unlimited."),
    ]

    def limit(self) -> int | None:
        """The limit in minor units, None: unlimited."""
        return minor_limit(self.net_in_limit, is_stated=True)


class BundleState(LazyModel):
    """The trust bundle of a peer, as it was read last."""

    sha256: str = Field(description="Thumbprint of the roots.")
    sequence: int
    fetched_at: datetime


class CardVerdictOut(LazyModel):
    """One step in which a registry card was judged."""

    step: str
    ok: bool
    reason: str


class PeerCardState(LazyModel):
    """The registry card of a peer, as it was verified last."""

    etag: str
    kid: str
    fetched_at: datetime
    signed_at: datetime
    expires_at: datetime


class PeerOut(LazyModel):
    """A peer. What its card states is null before the card was verified."""

    name: str
    trust_domain: str
    registry_url: str
    federation_base_url: str | None
    peer_type: PeerType
    status: PeerStatus
    approval: Approval
    hop_distance: int
    settlement_currency: str | None
    last_synced_at: datetime | None
    lag_seconds: int | None = Field(description="Seconds since the last synchronisation.")
    refused: dict[str, int] = Field(description="How often something of the peer was refused, by reason.")
    trust_state: TrustState
    bayesian_discount: float = Field(description="Trust score; 0.5 without evidence.")
    total_interactions: int
    disputes_lost_with: int
    last_interaction_at: datetime | None
    auto_slash_enabled: bool
    auto_slash_max_avt: int
    net_in_limit: str | None = Field(
        description="Units that it may bring in more than it takes out; null: unlimited."
    )
    peer_id: int
    spiffe_id: str | None
    ledger_id: str | None
    did_namespace: str | None
    removing: bool
    paused_at: datetime | None
    quarantined_at: datetime | None
    quarantine_reason: str | None
    trouble: str | None = Field(description="Why the last attempt to read the peer failed.")
    bundle: BundleState
    card: PeerCardState | None
    card_verdicts: list[CardVerdictOut] = Field(description="The steps in which its card was judged last.")
    created_at: datetime
    approved_at: datetime | None

    @classmethod
    def of(cls, view: PeerView) -> "PeerOut":
        peer = view.peer
        limit = peer.net_in_limit
        return cls(
            name=peer.name,
            trust_domain=peer.trust_domain,
            registry_url=peer.registry_url,
            federation_base_url=peer.federation_base_url,
            peer_type=peer.peer_type,
            status=peer.status,
            approval=peer.approval,
            hop_distance=peer.hop_distance,
            settlement_currency=peer.settlement_currency,
            last_synced_at=peer.last_synced_at,
            lag_seconds=view.lag_seconds,
            refused=view.refused,
            trust_state=peer.trust_state,
            bayesian_discount=round(view.score, 6),
            total_interactions=peer.total_interactions,
            disputes_lost_with=peer.disputes_lost_with,
            last_interaction_at=peer.last_interaction_at,
            auto_slash_enabled=peer.auto_slash_enabled,
            auto_slash_max_avt=peer.auto_slash_max_avt,
            net_in_limit=None if limit is None else format_amount(limit),
            peer_id=peer.id,
            spiffe_id=peer.spiffe_id,
            ledger_id=peer.ledger_id,
            did_namespace=peer.did_namespace,
            removing=peer.removing,
            paused_at=peer.paused_at,
            quarantined_at=peer.quarantined_at,
            quarantine_reason=peer.quarantine_reason,
            trouble=peer.trouble,
            bundle=BundleState(
                sha256=peer.bundle.thumbprint,
                sequence=peer.bundle.sequence,
                fetched_at=peer.bundle_fetched_at,
            ),
            card=_card_state(peer),
            card_verdicts=[CardVerdictOut.model_validate(verdict) for verdict in peer.card_verdicts],
            created_at=peer.created_at,
            approved_at=peer.approved_at,
        )


class PeersPage(Page[PeerOut]):
    """Peers, by name."""

    @classmethod
    def of(cls, found: list[PeerView], total: int, query: "PeersQuery") -> "PeersPage":
        return cls(
            items=[PeerOut.of(one) for one in found],
            pagination=Pagination.of(total=total, limit=query.limit, offset=query.offset),
        )


class PeersQuery(LazyModel):
    """Which page of peers."""

    limit: Annotated[int, Field(ge=1, le=1000)] = 100
    offset: Annotated[int, Field(ge=0, le=10_000_000)] = 0


class SyncOut(LazyModel):
    """What one synchronisation with a peer changed."""

    pulled: int = Field(description="Items that were read.")
    changed: int
    hidden: int = Field(description="Cards that left the listing.")
    refused: dict[str, int] = Field(description="How many were refused, by reason.")


class RemovedOut(LazyModel):
    """A peer that was removed, or is removed once nothing with it is under way."""

    name: str
    status: Literal["removed", "removing"]


def minor_limit(stated: str | None, *, is_stated: bool) -> int | None:
    """A limit in minor units: the default where none is stated, None: unlimited."""
    if not is_stated:
        return NET_IN_LIMIT_DEFAULT
    return None if stated is None else parse_amount(stated)


def _card_state(peer: PeerRecord) -> PeerCardState | None:
    if peer.card is None:
        return None
    return PeerCardState.model_validate(
        {
            "etag": peer.card_etag,
            "kid": peer.card_kid,
            "fetched_at": peer.card_fetched_at,
            "signed_at": peer.card_signed_at,
            "expires_at": peer.card_expires_at,
        }
    )


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
