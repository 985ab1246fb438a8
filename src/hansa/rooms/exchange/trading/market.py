"""The market as everybody reads it, and the portfolio of an agent."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Literal, TypeAlias

import msgspec

from hansa.foundation.plumbing.process.runtime import Runtime, Slot
from hansa.foundation.plumbing.storage.batch_loader import BatchLoader
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import Minor
from hansa.rooms.exchange import store as listings
from hansa.rooms.exchange.errors import ListingUnknown
from hansa.rooms.exchange.reading import HIDDEN
from hansa.rooms.exchange.records import Listing

from . import reading_store as store
from .reading_store import Candle, Depth, Held, Holder, PublicTrade
from .records import Order
from .rules import OPEN_MAX

Timeframe: TypeAlias = Literal["1m", "5m", "15m", "1h", "4h", "1d", "1w"]
SPANS: dict[Timeframe, timedelta] = {
    "1m": timedelta(minutes=1),
    "5m": timedelta(minutes=5),
    "15m": timedelta(minutes=15),
    "1h": timedelta(hours=1),
    "4h": timedelta(hours=4),
    "1d": timedelta(days=1),
    "1w": timedelta(weeks=1),
}

DAY_HOURS = 24


class Portfolio(msgspec.Struct, frozen=True):
    """Points of an agent, and the units that its open buys and its subscriptions hold."""

    holdings: list[Held]
    escrow: Minor


class Books:
    """The books of listings in one process: readings that are asked for at the same moment share one statement."""

    def __init__(self, runtime: Runtime) -> None:
        self._database = runtime.database
        self._readings = BatchLoader[tuple[str, int], Depth](self._read)

    async def read(self, ref: str, levels: int) -> Depth:
        """So many of the best levels of both sides of a listing, as they are after this call. Raises: ListingUnknown, Unavailable."""
        found = await self._readings.find((ref, levels))
        if found is None:
            raise ListingUnknown
        return found

    async def _read(self, asked: Sequence[tuple[str, int]]) -> dict[tuple[str, int], Depth]:
        return await self._database.query(lambda tx: store.depths(tx, asked, HIDDEN))


BOOKS: Slot[Books] = Slot("exchange: books that are read together", build=Books)


async def read_book(tx: Tx, ref: str, levels: int) -> Depth:
    """So many of the best levels of both sides of a listing, for a page that reads more. Raises: ListingUnknown."""
    found = (await store.depths(tx, [(ref, levels)], HIDDEN)).get((ref, levels))
    if found is None:
        raise ListingUnknown
    return found


async def read_trades(tx: Tx, ref: str, most: int) -> list[PublicTrade]:
    """The newest trades of a listing, the newest first. Raises: ListingUnknown."""
    await _public(tx, ref)
    return await store.newest_trades(tx, ref, most)


async def read_candles(
    tx: Tx, ref: str, timeframe: Timeframe, since: datetime | None, most: int
) -> list[Candle]:
    """The newest candles of a listing that have trades, the oldest of them first. Raises: ListingUnknown."""
    await _public(tx, ref)
    return await store.candles(tx, ref, SPANS[timeframe], since, most)


async def read_holders(tx: Tx, ref: str, limit: int, offset: int) -> tuple[list[Holder], int]:
    """The agents with points of a listing, those with the most first, and how many there are. Raises: ListingUnknown."""
    await _public(tx, ref)
    return await store.holders(tx, ref, limit, offset)


async def portfolio_of(tx: Tx, agent_did: str) -> Portfolio:
    """Points and escrow of an agent."""
    return Portfolio(await store.holdings_of(tx, agent_did), await store.escrow_of(tx, agent_did))


async def read_day(tx: Tx, refs: Sequence[str]) -> dict[str, list[Minor]]:
    """The price at the end of each hour of the last day, by listing, the oldest first; one without a price is absent."""
    return await store.hourly_prices(tx, refs, DAY_HOURS)


async def read_resting(tx: Tx, agent_did: str, ref: str | None) -> list[Order]:
    """The open orders of an agent, at one listing or at all, the newest first."""
    return await store.resting(tx, agent_did, ref, OPEN_MAX)


async def _public(tx: Tx, ref: str) -> Listing:
    """Raises: ListingUnknown."""
    listing = await listings.find(tx, ref)
    if listing is None or listing.status in HIDDEN:
        raise ListingUnknown
    return listing
