"""The structure of the federation as this registry sees it: itself, its peers, and how fresh each connection is."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from hansa.foundation.plumbing.database import Tx
from hansa.foundation.plumbing.settings import Settings
from hansa.rooms.federation.charter import ReadLastAudit, read_card

from . import store
from .records import PeerRecord, PeerType
from .views import PeerView, every_peer

QUARANTINED = "quarantined"


@dataclass(frozen=True)
class Node:
    """A registry."""

    name: str
    trust_domain: str
    ledger_id: str | None
    tier: str | None
    status: str
    settlement_currency: str | None


@dataclass(frozen=True)
class Edge:
    """A connection; `start` and `to` are names of nodes."""

    start: str
    to: str
    kind: PeerType
    status: str
    lag_seconds: int | None


@dataclass(frozen=True)
class Topology:
    """Nodes and edges; the first node is this registry."""

    own_name: str
    nodes: Sequence[Node]
    edges: Sequence[Edge]
    as_of: datetime


async def read_topology(tx: Tx, settings: Settings, last_audit: ReadLastAudit) -> Topology:
    """The federation now. A name that several registries have is replaced by their ledger ids. Raises: CardUnsigned."""
    own_card = await read_card(tx, settings.settlement_currency, last_audit)
    found = await every_peer(tx)
    counts = Counter([settings.registry_name, *(view.peer.registry_name for view in found)])
    own = Node(
        settings.registry_name,
        settings.trust_domain,
        settings.ledger_id,
        own_card.card["identity"]["tier"],
        "active",
        settings.settlement_currency,
    )
    nodes = [_node(view.peer, counts) for view in found]
    edges = [_edge(view, node, own.name) for view, node in zip(found, nodes, strict=True)]
    return Topology(own.name, [own, *nodes], edges, await store.now(tx))


def _node(peer: PeerRecord, counts: Counter[str]) -> Node:
    is_ambiguous = counts[peer.registry_name] > 1
    name = (peer.ledger_id or peer.trust_domain) if is_ambiguous else peer.registry_name
    status = QUARANTINED if peer.quarantined_at else peer.status
    return Node(name, peer.trust_domain, peer.ledger_id, peer.tier, status, peer.settlement_currency)


def _edge(view: PeerView, node: Node, own_name: str) -> Edge:
    return Edge(own_name, node.name, view.peer.peer_type, node.status, view.lag_seconds)
