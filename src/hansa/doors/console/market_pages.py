"""The market of points: the listings, each by itself with its terms, chart, book, trades and holders, the stock card, and those of peers."""

from datetime import UTC, datetime
from typing import Annotated

import msgspec
from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse
from markupsafe import Markup

from hansa.doors.console.market_plots import CandlePlot, change_of, day_line, depth_of
from hansa.doors.console.rendering import page
from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.joined_reads import read_together
from hansa.foundation.plumbing.web.caller import Public
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.rooms import exchange

router = APIRouter(
    include_in_schema=False,
    default_response_class=HTMLResponse,
    route_class=LazyRoute,
    dependencies=[Depends(within_read_limit)],
)

LISTINGS_SHOWN, LEVELS_SHOWN, TRADES_SHOWN, HOLDERS_SHOWN, CANDLES_SHOWN = 20, 10, 20, 20, 120
LEVIES_SHOWN = 10
HOLDERS_OF_PAGE, LISTINGS_OF_CARD = 50, 100
REFRESH_SECONDS = 10
Offset = Annotated[int, Query(ge=0, le=10**6)]


class Row(msgspec.Struct, frozen=True):
    """A listing in the list, with its price over the last day where it has one."""

    shown: exchange.ShownListing
    change: str | None
    plot: Markup | None


@router.get("/market")
async def show_market(
    _: Public, request: Request, db: Db, settings: Config, *, offset: Offset = 0
) -> HTMLResponse:
    """The listings of this registry, those that live first; none while its exchange is off."""

    async def reading(tx: Tx) -> tuple[list[Row], bool]:
        found, has_more = await exchange.read_page(tx, LISTINGS_SHOWN, offset)
        days = await exchange.read_day(tx, [one.listing.ref for one in found])
        rows = []
        for one in found:
            prices = days.get(one.listing.ref)
            rows.append(Row(one, change_of(prices) if prices else None, day_line(prices) if prices else None))
        return rows, has_more

    rows, has_more = await db.read(reading) if settings.exchange_enabled else ([], False)
    return page(
        request,
        "market/listings.html",
        rows=rows,
        has_more=has_more,
        offset=offset,
        shown_at_most=LISTINGS_SHOWN,
        currency=settings.settlement_currency,
    )


@router.get("/market/stock-card")
async def show_stock_card(_: Public, request: Request, db: Db) -> HTMLResponse:
    """The stock card of this registry, if there is one."""
    card = await db.read(exchange.newest_stock_card)
    return page(request, "market/stock-card.html", card=card, rows=[] if card is None else _with_closes(card))


@router.get("/market/venues")
async def show_venues(_: Public, request: Request, db: Db) -> HTMLResponse:
    """The verified stock cards of peers."""
    venues = await db.read(exchange.venues_shown)
    return page(request, "market/venues.html", venues=[(one, _with_closes(one)) for one in venues])


@router.get("/market/{ref}/holders")
async def show_holders(
    _: Public, ref: exchange.RefInPath, request: Request, db: Db, *, offset: Offset = 0
) -> HTMLResponse:
    """A page of the agents with points of a listing. Raises: ListingUnknown."""
    shown, (holders, total) = await db.read(
        lambda tx: read_together(
            tx,
            lambda tx: exchange.read_listing(tx, None, ref),
            lambda tx: exchange.read_holders(tx, ref, HOLDERS_OF_PAGE, offset),
        )
    )
    return page(
        request,
        "market/holders.html",
        shown=shown,
        holders=holders,
        total=total,
        offset=offset,
        shown_at_most=HOLDERS_OF_PAGE,
    )


@router.get("/market/{ref}")
async def show_listing(
    _: Public,
    ref: exchange.RefInPath,
    request: Request,
    db: Db,
    settings: Config,
    *,
    tf: exchange.Timeframe = "1h",
    live: bool = False,
) -> HTMLResponse:
    """One listing. With `live` the browser asks for it again, without a script. Raises: ListingUnknown."""
    span = exchange.SPANS[tf]
    since = datetime.now(UTC) - CANDLES_SHOWN * span
    listing, book, trades, candles, (holders, holder_count), levies = await db.read(
        lambda tx: read_together(
            tx,
            lambda tx: exchange.read_listing(tx, None, ref),
            lambda tx: exchange.read_book(tx, ref, LEVELS_SHOWN),
            lambda tx: exchange.read_trades(tx, ref, TRADES_SHOWN),
            lambda tx: exchange.read_candles(tx, ref, tf, since, CANDLES_SHOWN),
            lambda tx: exchange.read_holders(tx, ref, HOLDERS_SHOWN, 0),
            lambda tx: exchange.newest_levies(tx, ref, LEVIES_SHOWN),
        )
    )
    answer = page(
        request,
        "market/listing.html",
        shown=listing,
        book=book,
        depth=depth_of(book),
        trades=trades,
        plot=CandlePlot(candles, span) if candles else None,
        holders=holders,
        holder_count=holder_count,
        levies=levies,
        timeframe=tf,
        timeframes=tuple(exchange.SPANS),
        live=live,
        seconds=REFRESH_SECONDS,
        currency=settings.settlement_currency,
    )
    if live:
        answer.headers["Refresh"] = str(REFRESH_SECONDS)
    return answer


def _with_closes(
    card: exchange.StockCardOut | exchange.VenueOut,
) -> list[tuple[exchange.StockListingOut, exchange.StockCloseOut | None]]:
    """The first listings of a stock card, each with its close if it has one."""
    closes = {one.ref: one for one in card.closes}
    return [(listing, closes.get(listing.ref)) for listing in card.listings[:LISTINGS_OF_CARD]]
