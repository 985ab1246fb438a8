"""The book of a listing that follows its changes by the live feed, by either client."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from hansa_client.live_books import DEPTH, LiveBook
from hansa_client.records.market import Book, BookChange, BookLevelChange
from tests.client.conftest import Open
from tests.exchange import market
from tests.registry import StartRegistry, TestRegistry
from tests.trading import floor

HEAR_SECONDS = 60
NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
async def registry(start_registry: StartRegistry) -> TestRegistry:
    """A registry whose exchange is on."""
    return await start_registry(exchange_enabled=True)


@asynccontextmanager
async def following(connect: Open, ref: str) -> AsyncIterator[Any]:
    """A function that returns the next book."""
    books = connect().unwrapped.agent.market.follow_book(ref)

    async def following_book() -> Book:
        async with asyncio.timeout(HEAR_SECONDS):
            if hasattr(books, "__anext__"):
                return await anext(books)
            return await asyncio.to_thread(next, books)

    try:
        yield following_book
    finally:
        if hasattr(books, "aclose"):
            await books.aclose()
        else:
            await asyncio.to_thread(books.close)


async def test_the_book_is_followed_as_it_changes(connect: Open, registry: TestRegistry):
    at = await floor(await market(registry))
    seller, buyer = await at.parties(2)
    async with following(connect, at.ref) as following_book:
        first = await following_book()
        assert (first.bids, first.asks) == ([], [])
        ask = await at.order(seller, "sell", 3, "4")
        assert (await following_book()).asks == [(Decimal(4), 3, 1)]
        await at.order(buyer, "buy", 1, "4")
        assert (await following_book()).asks == [(Decimal(4), 2, 1)]
        await at.cancel(seller, ask)
        last = await following_book()
        assert (last.asks, last.seq) == ([], (await at.public("book"))["seq"])


def change(after: int, seq: int, *levels: tuple[str, str, int, int]) -> BookChange:
    return BookChange(
        after, seq, [BookLevelChange(side, Decimal(price), *more) for side, price, *more in levels]
    )


def test_a_change_that_comes_early_waits_and_one_that_is_known_is_dropped():
    live = LiveBook(Book([(Decimal(3), 5, 1)], [], 10, NOW))
    assert not live.take(change(8, 10, ("buy", "3", 5, 1)))
    assert not live.take(change(12, 13, ("buy", "3", -5, -1)))
    assert live.take(change(10, 12, ("sell", "4", 2, 1)))
    book = live.book(12)
    assert (book.bids, book.asks, book.seq) == ([], [(Decimal(4), 2, 1)], 13)


def test_levels_beyond_the_depth_are_unknown_and_a_side_that_is_nearly_gone_is_read_anew():
    asks = [(Decimal(price), 1, 1) for price in range(1, DEPTH + 1)]
    live = LiveBook(Book([], asks, 1, NOW))
    assert live.take(change(1, 2, ("sell", str(DEPTH + 1), 1, 1)))
    assert len(live.book(DEPTH + 1).asks) == DEPTH
    gone = [("sell", str(price), -1, -1) for price in range(1, DEPTH // 2 + 1)]
    assert live.take(change(2, 3, *gone))
    assert not live.is_lost
    assert live.take(change(3, 4, ("sell", str(DEPTH), -1, -1)))
    assert live.is_lost
