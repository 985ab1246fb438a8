"""The pages of the federation: its members, and each peer with every verdict on its registry card.

The drawing of the federation: registries in rows by their tier, connections by how fresh they are. SVG from the server.
"""

from collections.abc import Sequence
from datetime import datetime
from html import escape
from typing import Annotated, Literal
from urllib.parse import quote

import msgspec
from fastapi import APIRouter, Depends, Path, Request
from fastapi.responses import HTMLResponse, Response
from markupsafe import Markup
from pydantic import Field

import hansa.foundation.plumbing.web.peer_caller  # noqa: F401  # the type of names in paths
from hansa.doors.console.rendering import both_forms, page_or_json
from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Public
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.visible_text import apart
from hansa.rooms import federation

NAME_MAX_CHARACTERS = 253
router = APIRouter(
    include_in_schema=False,
    default_response_class=HTMLResponse,
    route_class=LazyRoute,
    dependencies=[Depends(within_read_limit)],
)
LastAuditOf = Annotated[federation.ReadLastAudit, Depends(federation.LAST_AUDIT.given)]
WIDTH, ROW_HEIGHT, TOP, RADIUS = 720, 96, 48, 9
DRAWN_AT_MOST = 60
IN_A_ROW = 6
# A name stands below its circle, that of this registry above it: most lines begin there and lead down.
NAME_BELOW, NAME_ABOVE = 26, 18
LABEL_CHARACTERS = 18
LATE_INTERVALS, STALE_SECONDS = 2, 3600
TIERS = ("sovereign-mainframe", "regional-mainframe", "standalone", "cloud-operator", "sandbox")
# By the distance: this registry, a peer, and one that is known by a peer.
KINDS = ("own", "peer", "far")
FAR = len(KINDS) - 1
Freshness = Literal["fresh", "late", "stale", "closed"]


def freshness(status: str, lag_seconds: int | None, interval: int) -> Freshness:
    """How fresh a connection is: late after two intervals, stale after that and an hour; closed while nothing is exchanged."""
    if status != "active":
        return "closed"
    late_after = LATE_INTERVALS * interval
    if lag_seconds is None or lag_seconds > late_after + STALE_SECONDS:
        return "stale"
    return "late" if lag_seconds > late_after else "fresh"


class PeerLine(LazyModel):
    """A peer in the table of the federation."""

    name: str
    address: str
    trust_domain: str
    tier: str | None
    status: str
    settlement_currency: str | None
    lag_seconds: int | None
    freshness: Freshness


class PeerShown(LazyModel):
    """A peer as everyone sees it."""

    peer: federation.RosterPeer
    ledger_id: str | None
    tier: str | None
    trust_state: str
    is_quarantined: bool
    lag_seconds: int | None
    freshness: Freshness
    trouble: str | None = Field(description="Why the last attempt to read it failed.")
    card_fetched_at: datetime | None
    card_expires_at: datetime | None
    refused: dict[str, int]
    recommended: list[str] = Field(
        description="Settings with which this registry would act on what it observes."
    )
    verdicts: list[federation.CardVerdictOut]

    @classmethod
    def of(cls, view: federation.PeerView, settings: Settings) -> "PeerShown":
        peer, interval = view.peer, settings.federation_sync_interval_seconds
        is_quarantined = peer.quarantined_at is not None
        status = "quarantined" if is_quarantined else peer.status
        return cls(
            peer=federation.RosterPeer.of(peer),
            ledger_id=peer.ledger_id,
            tier=peer.tier,
            trust_state=peer.trust_state,
            is_quarantined=is_quarantined,
            lag_seconds=view.lag_seconds,
            freshness=freshness(status, view.lag_seconds, interval),
            trouble=peer.trouble,
            card_fetched_at=peer.card_fetched_at,
            card_expires_at=peer.card_expires_at,
            refused=view.refused,
            recommended=_recommended(peer, settings),
            verdicts=[federation.CardVerdictOut.model_validate(verdict) for verdict in peer.card_verdicts],
        )


@both_forms(router, "/federation")
async def show_federation(
    _: Public,
    request: Request,
    db: Db,
    settings: Config,
    last_audit: LastAuditOf,
    discovered: Annotated[federation.ReadDiscovered, Depends(federation.DISCOVERED.given)],
) -> Response:
    """The registries of the federation, drawn and as a table; as JSON the same as `/api/v1/public/topology`."""

    async def read(tx: Tx) -> federation.TopologyOut:
        return federation.TopologyOut.of(await federation.read_topology(tx, settings, last_audit, discovered))

    shown = await db.read(read)
    interval = settings.federation_sync_interval_seconds
    return page_or_json(
        request,
        "federation.html",
        shown,
        lines=_lines(shown, interval),
        discovered=_discovered(shown),
        drawing=drawing(shown, interval),
        left_out=max(0, len(shown.nodes) - DRAWN_AT_MOST),
    )


@router.get("/federation/peers/{name:peer}")
async def show_peer(
    _: Public,
    request: Request,
    db: Db,
    settings: Config,
    name: Annotated[str, Path(min_length=1, max_length=NAME_MAX_CHARACTERS)],
) -> Response:
    """Show a peer with every verdict on its registry card, and the refusals of its documents; as JSON under `.json`."""
    asked = name.removesuffix(".json")

    async def read(tx: Tx) -> federation.PeerView:
        view = await federation.view_by_name(tx, asked)
        if not view.peer.is_member:
            raise federation.PeerUnknown
        return view

    shown = PeerShown.of(await db.read(read), settings)
    return page_or_json(request, "peer.html", shown)


def _recommended(peer: federation.PeerRecord, settings: Settings) -> list[str]:
    measured = peer.trust_state != "unmeasured"
    return [
        *(["PEER_TRUST_MODE=enforce"] if measured and settings.peer_trust_mode == "observe" else []),
        *(
            ["ENFORCEMENT_PROPAGATION_MODE=enforce"]
            if settings.enforcement_propagation_mode == "shadow"
            else []
        ),
    ]


def _lines(shown: federation.TopologyOut, interval: int) -> Sequence[PeerLine]:
    """The peers; the first node is this registry, and each other node stands where its edge does."""
    return [
        PeerLine(
            name=node.name,
            address=f"/federation/peers/{quote(node.ledger_id or node.trust_domain, safe='')}",
            trust_domain=node.trust_domain,
            tier=node.tier,
            status=node.status,
            settlement_currency=node.settlement_currency,
            lag_seconds=edge.lag_seconds,
            freshness=freshness(edge.status, edge.lag_seconds, interval),
        )
        for node, edge in zip(shown.nodes[1:], shown.edges, strict=True)
        if node.hop_distance == 1
    ]


def _discovered(shown: federation.TopologyOut) -> Sequence[tuple[federation.NodeOut, str]]:
    """The registries that are known by a peer, each with the name of that peer."""
    return [
        (node, edge.start)
        for node, edge in zip(shown.nodes[1:], shown.edges, strict=True)
        if node.hop_distance > 1
    ]


class Place(msgspec.Struct, frozen=True):
    """Position of a registry on the drawing."""

    name: str
    kind: str
    x: float
    y: float


def drawing(topology: federation.TopologyOut, interval: int) -> Markup:
    """The drawing, complete in itself; of a large federation its first registries. The table beside it has them all."""
    places = _placed(topology.nodes[:DRAWN_AT_MOST])
    height = max(place.y for place in places.values()) + ROW_HEIGHT / 2
    edges = "".join(
        f'<line class="edge {freshness(edge.status, edge.lag_seconds, interval)}"'
        f' x1="{places[edge.start].x:.0f}" y1="{places[edge.start].y:.0f}"'
        f' x2="{places[edge.to].x:.0f}" y2="{places[edge.to].y:.0f}"/>'
        for edge in topology.edges
        if edge.start in places and edge.to in places
    )
    nodes = "".join(_node(place) for place in places.values())
    peers = sum(node.hop_distance == 1 for node in topology.nodes)
    farther = len(topology.nodes) - 1 - peers
    known = f" and {farther} registries known by a peer" if farther else ""
    label = f"{topology.self} with {peers} peers{known}; the tables list each of them."
    return Markup(  # noqa: S704
        f'<svg viewBox="0 0 {WIDTH} {height:.0f}" role="img" aria-label="{escape(apart(label))}">{edges}{nodes}</svg>'
    )


def _placed(nodes: Sequence[federation.NodeOut]) -> dict[str, Place]:
    rows: list[Sequence[federation.NodeOut]] = []
    for tier in (*TIERS, None):
        found = [node for node in nodes if (node.tier if node.tier in TIERS else None) == tier]
        rows += [found[start : start + IN_A_ROW] for start in range(0, len(found), IN_A_ROW)]
    return {
        node.name: Place(
            node.name,
            KINDS[min(node.hop_distance, FAR)],
            WIDTH * (place + 1) / (len(row) + 1),
            TOP + number * ROW_HEIGHT,
        )
        for number, row in enumerate(rows)
        for place, node in enumerate(row)
    }


def _node(place: Place) -> str:
    name = place.name
    label = name if len(name) <= LABEL_CHARACTERS else f"{name[: LABEL_CHARACTERS - 1]}…"
    return (
        f'<circle class="node {place.kind}" cx="{place.x:.0f}" cy="{place.y:.0f}" r="{RADIUS}"/>'
        f'<text x="{place.x:.0f}" y="{place.y + (-NAME_ABOVE if place.kind == KINDS[0] else NAME_BELOW):.0f}" text-anchor="middle">{escape(apart(label))}</text>'
    )
