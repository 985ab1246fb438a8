"""The doors of the feed: a ticket over HTTP, and the socket itself."""

from fastapi import APIRouter, Depends, Request, WebSocket

from hansa.foundation.plumbing.process.runtime import Db, Tokens, runtime_of
from hansa.foundation.plumbing.telemetry.lines import LINE
from hansa.foundation.plumbing.web.bodies import GuardedRoute
from hansa.foundation.plumbing.web.caller import DeveloperOrAgent, bearer_token
from hansa.foundation.plumbing.web.limits import READ_LIMIT, Limit, client_address, limited
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import Forbidden, TooManyRequests, Unauthorized

from . import rules
from .bearer import TICKET_SECONDS, bearer_of, issue_ticket
from .conversation import Conversation
from .live_feed import LIVE_FEED
from .schemas import TicketOut

router = APIRouter(tags=["live feed"], route_class=GuardedRoute)
root_router = APIRouter()


@router.post(
    "/ws/ticket",
    responses=problems(Unauthorized, Forbidden, TooManyRequests),
    dependencies=[Depends(limited(Limit("feed ticket", 120)))],
)
async def issue_feed_ticket(request: Request, caller: DeveloperOrAgent, db: Db, tokens: Tokens) -> TicketOut:
    """Issue a single-use ticket that opens /ws/events for the caller, so that no token appears in a URL."""
    ticket = await db.transaction(lambda tx: issue_ticket(tx, tokens, caller, bearer_token(request)))
    return TicketOut(ticket=ticket, expires_in=TICKET_SECONDS)


@root_router.websocket("/ws/events")
async def follow_events(websocket: WebSocket) -> None:
    """The live feed. A handshake that is refused answers with a problem document; later refusals are messages."""
    runtime = runtime_of(websocket)
    feed = LIVE_FEED.of(runtime)
    rules.require_own_origin(
        websocket.headers.get("origin"),
        host=websocket.headers.get("host", ""),
        base_url=runtime.settings.base_url,
    )
    await READ_LIMIT.of(runtime).admit(client_address(websocket))
    given = websocket.query_params.getlist("token")
    bearer = await bearer_of(runtime, given)
    with feed.place():
        await websocket.accept()
        with feed.reading(websocket.scope["extensions"][LINE], bearer.did) as reader:
            await Conversation(websocket, feed, reader, bearer).run(runtime.settings.ledger_id)
