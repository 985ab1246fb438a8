"""The structure of the federation as this registry sees it: itself, its peers, those known by a peer, and how fresh each is."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime

import msgspec

from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.joined_reads import read_together
from hansa.rooms.federation.charter import ReadLastAudit, read_card

from .reading import PeerView, every_peer
from .records import PeerRecord, PeerType
from .slots import DiscoveredRegistry, ReadDiscovered

QUARANTINED = "quarantined"


class Node(msgspec.Struct, frozen=True):
    """A registry."""

    name: str
    trust_domain: str
    ledger_id: str | None
    tier: str | None
    status: str
    settlement_currency: str | None
    hop_distance: int


class Edge(msgspec.Struct, frozen=True):
    """A connection; `start` and `to` are names of nodes."""

    start: str
    to: str
    kind: PeerType
    status: str
    lag_seconds: int | None


class Topology(msgspec.Struct, frozen=True):
    """Nodes and edges; the first node is this registry."""

    own_name: str
    nodes: Sequence[Node]
    edges: Sequence[Edge]
    as_of: datetime


async def read_topology(
    tx: Tx, settings: Settings, last_audit: ReadLastAudit, discovered: ReadDiscovered
) -> Topology:
    """The federation now. A name that several registries have is replaced by their ledger ids. Raises: CardUnsigned."""
    own_card, found, registries, as_of = await read_together(
        tx,
        lambda tx: read_card(tx, settings.settlement_currency, last_audit),
        every_peer,
        discovered,
        clock.now,
    )
    known = {settings.ledger_id, *(view.peer.ledger_id for view in found)}
    farther = [one for one in registries if one.ledger_id not in known]
    peer_names = [view.peer.registry_name for view in found]
    counts = Counter([settings.registry_name, *peer_names, *(one.registry_name for one in farther)])
    own = Node(
        settings.registry_name,
        settings.trust_domain,
        settings.ledger_id,
        own_card.card["identity"]["tier"],
        "active",
        settings.settlement_currency,
        0,
    )
    nodes = [_node(view.peer, counts) for view in found]
    edges = [_edge(view, node, own.name) for view, node in zip(found, nodes, strict=True)]
    relays = {node.ledger_id: (view, node) for view, node in zip(found, nodes, strict=True)}
    for one in farther:
        # A peer that was removed meanwhile has no node; what came by it goes with the next reading.
        if one.relay_ledger_id in relays:
            view, relay = relays[one.relay_ledger_id]
            nodes.append(_discovered(one, counts))
            edges.append(Edge(relay.name, nodes[-1].name, "discovered", nodes[-1].status, view.lag_seconds))
    return Topology(own.name, [own, *nodes], edges, as_of)


def _node(peer: PeerRecord, counts: Counter[str | None]) -> Node:
    is_ambiguous = counts[peer.registry_name] > 1
    name = (peer.ledger_id or peer.trust_domain) if is_ambiguous else peer.registry_name
    status = QUARANTINED if peer.quarantined_at else peer.status
    return Node(name, peer.trust_domain, peer.ledger_id, peer.tier, status, peer.settlement_currency, 1)


def _discovered(one: DiscoveredRegistry, counts: Counter[str | None]) -> Node:
    is_named = one.registry_name is not None and counts[one.registry_name] == 1
    return Node(
        (one.registry_name if is_named else None) or one.ledger_id,
        one.ledger_id.partition("/")[0],
        one.ledger_id,
        None,
        "active" if one.is_verified else "inactive",
        one.settlement_currency,
        one.hop_distance,
    )


def _edge(view: PeerView, node: Node, own_name: str) -> Edge:
    return Edge(own_name, node.name, view.peer.peer_type, node.status, view.lag_seconds)
