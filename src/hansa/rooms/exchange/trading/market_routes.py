"""The market over HTTP, public."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query
from pydantic import AwareDatetime

from hansa.foundation.plumbing.process.runtime import Db
from hansa.foundation.plumbing.web.bodies import GuardedRoute
from hansa.foundation.plumbing.web.caller import Public
from hansa.foundation.plumbing.web.direct import DirectRoute
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import Invalid, TooManyRequests, Unavailable
from hansa.foundation.values.paging import Pagination
from hansa.foundation.values.timestamps import ISO_ONLY
from hansa.rooms.exchange.errors import ListingUnknown
from hansa.rooms.exchange.schemas import RefInPath

from .market import BOOKS, Books, Timeframe, read_candles, read_holders, read_trades
from .market_schemas import BookOut, CandleOut, CandlesOut, HolderOut, HoldersOut, TradeOut, TradesOut

OFFSET_MAX = 2**31 - 1
_READING = problems(ListingUnknown, Invalid, TooManyRequests)

market_router = APIRouter(
    prefix="/agora/listings/{ref}",
    tags=["exchange"],
    route_class=GuardedRoute,
    dependencies=[Depends(within_read_limit)],
)


async def read_order_book(
    ref: RefInPath,
    _: Public,
    books: Annotated[Books, Depends(BOOKS.given)],
    depth: Annotated[int, Query(ge=1, le=200)] = 12,
) -> BookOut:
    """The best prices of both sides of a listing, with the points and the number of the orders at each."""
    return BookOut.of(await books.read(ref, depth))


market_router.add_api_route(
    "/book",
    read_order_book,
    responses=problems(ListingUnknown, Invalid, TooManyRequests, Unavailable),
    route_class_override=DirectRoute,
)


@market_router.get("/trades", responses=_READING)
async def list_trades(
    ref: RefInPath, _: Public, db: Db, limit: Annotated[int, Query(ge=1, le=500)] = 50
) -> TradesOut:
    """The newest trades of a listing, the newest first."""
    found = await db.read(lambda tx: read_trades(tx, ref, limit))
    return TradesOut(trades=[TradeOut.of(one) for one in found])


@market_router.get("/candles", responses=_READING)
async def list_candles(
    ref: RefInPath,
    _: Public,
    db: Db,
    *,
    tf: Timeframe = "1h",
    since: Annotated[AwareDatetime | None, ISO_ONLY, Query(description="Leave out earlier candles.")] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 120,
) -> CandlesOut:
    """The newest candles of a listing in ascending order, aligned to UTC; spans without a trade are absent."""
    found = await db.read(lambda tx: read_candles(tx, ref, tf, since, limit))
    return CandlesOut(candles=[CandleOut.of(one) for one in found])


@market_router.get("/holders", responses=_READING)
async def list_holders(
    ref: RefInPath,
    _: Public,
    db: Db,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    offset: Annotated[int, Query(ge=0, le=OFFSET_MAX)] = 0,
) -> HoldersOut:
    """Agents with points of a listing, those with the most first."""
    found, total = await db.read(lambda tx: read_holders(tx, ref, limit, offset))
    return HoldersOut(
        holders=[HolderOut.of(one) for one in found],
        pagination=Pagination.of(total=total, limit=limit, offset=offset),
    )
