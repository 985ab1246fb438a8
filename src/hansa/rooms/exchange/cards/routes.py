"""The stock card, those of peers, and the passport over HTTP."""

from fastapi import APIRouter, Depends, Response
from fastapi.responses import JSONResponse

from hansa.foundation.plumbing.process.runtime import Db
from hansa.foundation.plumbing.web.bodies import GuardedRoute
from hansa.foundation.plumbing.web.caller import Public
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import TooManyRequests

from .composing import read_stock_card
from .errors import PassportDisabled, StockCardMissing
from .schemas import FederationTickersOut, StockCardOut
from .venues import venues_shown

CACHED = {"Cache-Control": "public, max-age=30", "Access-Control-Allow-Origin": "*"}

cards_router = APIRouter(
    prefix="/agora",
    tags=["exchange"],
    route_class=GuardedRoute,
    dependencies=[Depends(within_read_limit)],
)


@cards_router.get(
    "/stock-card", response_model=StockCardOut, responses=problems(StockCardMissing, TooManyRequests)
)
async def read_signed_stock_card(_: Public, db: Db) -> Response:
    """The stock card: closes of the last whole day (UTC) and the listings. Its digest is signed in the registry card."""
    # Another spelling of a moment would be another digest.
    return JSONResponse(await db.read_replicated(read_stock_card), headers=CACHED)


@cards_router.get("/federation-tickers", responses=problems(TooManyRequests))
async def read_federation_tickers(_: Public, response: Response, db: Db) -> FederationTickersOut:
    """The stock cards of peers that their registry cards verified."""
    response.headers.update(CACHED)
    return FederationTickersOut(venues=await db.read(venues_shown))


@cards_router.post(
    "/passport/inbound", status_code=204, responses=problems(PassportDisabled, TooManyRequests)
)
async def receive_passport(_: Public) -> None:
    """Refuse points of another registry: `fees.exchange.passport_enabled` of the registry card is false."""
    raise PassportDisabled
