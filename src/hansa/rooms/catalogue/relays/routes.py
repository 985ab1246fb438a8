"""Routes for peers, of cards that are passed on, and for everyone, of the registries that are known by a relay."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response

from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.web.bodies import GuardedRoute
from hansa.foundation.plumbing.web.caller import Public
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.foundation.plumbing.web.peer_caller import CertificateMissing, CurrentPeer, NotAPeer, PeerClosed
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import Invalid, TooManyRequests
from hansa.rooms.catalogue.errors import CursorInvalid
from hansa.rooms.catalogue.exports.routes import CURSOR_MAX, LIMIT_MAX, Limit

from .schemas import RelayedHomes, RelayedPageOut
from .serving import RelayOff, known_homes, relayed_page

Since = Annotated[str | None, Query(max_length=CURSOR_MAX, description="The `next` of an earlier page.")]

peer_router = APIRouter(prefix="/federation", tags=["federation"], route_class=GuardedRoute)
router = APIRouter(
    prefix="/federation",
    tags=["federation"],
    route_class=GuardedRoute,
    dependencies=[Depends(within_read_limit)],
)


@peer_router.get(
    "/relayed-agent-cards",
    response_model=RelayedPageOut,
    responses=problems(CertificateMissing, NotAPeer, PeerClosed, Invalid, CursorInvalid, RelayOff),
)
async def read_relayed_cards_for_peer(
    peer: CurrentPeer, db: Db, config: Config, since: Since = None, limit: Limit = LIMIT_MAX
) -> Response:
    """Read the cards of other registries that this one passes on, each as its home signed it; the peer's own are left out."""
    peer.require_open()
    if not config.relay_cards:
        raise RelayOff
    body = await db.read(lambda tx: relayed_page(tx, peer.ledger_id, since, limit))
    return Response(body, media_type="application/json")


@router.get("/relayed-homes", responses=problems(TooManyRequests))
async def list_relayed_homes(_: Public, db: Db) -> RelayedHomes:
    """List the registries whose cards come by a peer that passes them on, with the hop distance. Nothing crosses to them."""
    return RelayedHomes.of(await db.read(known_homes))
