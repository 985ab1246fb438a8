"""The pages of the federation: its members, and each peer with every verdict on its registry card."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Depends, Path, Request
from fastapi.responses import HTMLResponse, Response
from pydantic import Field

import hansa.foundation.plumbing.web.peer_names  # noqa: F401  # the type of names in paths
from hansa.doors.console.federation_map import DRAWN_AT_MOST, Freshness, drawing, freshness
from hansa.doors.console.rendering import both_forms, page_or_json
from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Public
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.foundation.values.lazy_model import LazyModel
from hansa.rooms import federation

NAME_MAX_CHARACTERS = 253

router = APIRouter(
    include_in_schema=False,
    default_response_class=HTMLResponse,
    route_class=LazyRoute,
    dependencies=[Depends(within_read_limit)],
)

LastAuditOf = Annotated[federation.ReadLastAudit, Depends(federation.LAST_AUDIT.given)]


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
