"""Number of transfers in a batch, and the outcome of those that wait where there is no database."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from hansa.foundation.plumbing.storage.database import Database, PinnedConnection
from hansa.foundation.plumbing.web.idempotency import KeyInProgress, Repeatable
from hansa.foundation.values.errors import Unavailable
from hansa.foundation.values.money import parse_amount
from hansa.rooms import ledger
from hansa.rooms.ledger import batch
from tests.registry import TestRegistry


class Unreachable(Database):
    """A database that nobody reaches."""

    tries = 0

    @asynccontextmanager
    async def pinned(self) -> AsyncIterator[PinnedConnection]:
        self.tries += 1
        raise Unavailable(retry_after=1)
        yield


def transfers(desk: ledger.GroupCommit, count: int) -> list[asyncio.Future[object]]:
    """So many transfers between agents that nobody knows, all at once."""
    order = ledger.TransferOrder("did:hansa:x:a", "did:hansa:x:b", parse_amount("1"))
    return [asyncio.ensure_future(desk.transfer(order, None, str)) for _ in range(count)]


@pytest.mark.parametrize(("count", "sizes"), [(10, [10]), (32, [32]), (40, [32, 8]), (80, [40, 40])])
async def test_a_batch_is_half_of_the_transfers_that_are_about_and_few_are_not_halved(
    registry: TestRegistry, monkeypatch: pytest.MonkeyPatch, count: int, sizes: list[int]
):
    seen, post_batch = [], batch.post_batch

    async def counted(tx, tickets, book):
        seen.append(len(tickets))
        return await post_batch(tx, tickets, book)

    monkeypatch.setattr(batch, "post_batch", counted)
    desk = ledger.GroupCommit(registry.database, ledger.Book.of(registry.settings))
    outcomes = await asyncio.gather(*transfers(desk, count), return_exceptions=True)
    assert {type(outcome) for outcome in outcomes} == {ledger.AccountUnknown}
    assert seen == sizes


async def test_all_that_wait_hear_at_once_that_the_database_cannot_be_reached(registry: TestRegistry):
    database = Unreachable("postgresql://nowhere")
    desk = ledger.GroupCommit(database, ledger.Book.of(registry.settings))
    outcomes = await asyncio.gather(*transfers(desk, 100), return_exceptions=True)
    assert {type(outcome) for outcome in outcomes} == {Unavailable}
    assert database.tries == 1


async def test_a_key_is_in_progress_until_its_batch_has_ended_even_when_nobody_waits_for_it(
    registry: TestRegistry, monkeypatch: pytest.MonkeyPatch
):
    may_post, post_batch = asyncio.Event(), batch.post_batch

    async def held(tx, tickets, book):
        await may_post.wait()
        return await post_batch(tx, tickets, book)

    monkeypatch.setattr(batch, "post_batch", held)
    desk = ledger.GroupCommit(registry.database, ledger.Book.of(registry.settings))
    order = ledger.TransferOrder("did:hansa:x:a", "did:hansa:x:b", parse_amount("1"))
    request = Repeatable("did:hansa:x:a", "/teg/transfer", "key", {})
    leaving = asyncio.create_task(desk.transfer(order, request, str))
    await asyncio.sleep(0.01)
    leaving.cancel()
    with pytest.raises(KeyInProgress):
        await desk.transfer(order, request, str)
    may_post.set()
    with pytest.raises(ledger.AccountUnknown):
        await desk.transfer(order, None, str)
    with pytest.raises(ledger.AccountUnknown):
        await desk.transfer(order, request, str)
