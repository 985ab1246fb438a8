"""Changes by a transaction beside an order that waits or takes its numbers."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import asyncpg

import hansa
from hansa.foundation.values.money import UNIT, Minor
from hansa.rooms import ledger
from hansa.rooms.ledger import posting
from tests.all_events import ALL_EVENTS
from tests.registry import TestAgent, TestRegistry

IS_BLOCKED = (
    "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE pg_backend_pid() = ANY (pg_blocking_pids(pid)))"
)
SOME_ARE_BLOCKED = "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE cardinality(pg_blocking_pids(pid)) > 0)"
APPENDING = Path(hansa.__file__).parent / "rooms/journal/sql/appending.sql"
BATCH = 32
# A rival that draws a number before each fortieth of a batch, of which each transfer needs three.
RIVAL_THAT_DRAWS = """
CREATE SEQUENCE calls;
CREATE TABLE drawn_by_a_rival (number bigint);
CREATE FUNCTION number_beside_a_rival() RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
  IF nextval('calls') % 40 = 0 THEN
    INSERT INTO drawn_by_a_rival VALUES (nextval('journal_event_seq_seq'));
  END IF;
  RETURN nextval('journal_event_seq_seq');
END $$;
"""


@asynccontextmanager
async def rival_of(registry: TestRegistry) -> "AsyncIterator[asyncpg.Connection[asyncpg.Record]]":
    """A connection of another process."""
    connection = await asyncpg.connect(registry.database.dsn)
    try:
        yield connection
    finally:
        await connection.close()


def paying(payer: TestAgent, payee: TestAgent) -> ledger.TransferOrder:
    """A transfer of a hundredth of a unit, which bears a fee."""
    return ledger.TransferOrder(payer.did, payee.did, Minor(UNIT // 100))


async def test_an_order_that_waited_for_a_rival_counts_what_the_rival_left(registry: TestRegistry):
    payer, payee = await registry.agent(), await registry.agent()
    book = ledger.Book.of(registry.settings)
    order = paying(payer, payee)
    async with rival_of(registry) as rival:
        ending = rival.transaction()
        await ending.start()
        first = await posting.transfer(rival, order, book)
        waiting = asyncio.create_task(
            registry.database.transaction(lambda tx: posting.transfer(tx, order, book))
        )
        while not await rival.fetchval(IS_BLOCKED):  # noqa: ASYNC110
            await asyncio.sleep(0)
        await ending.commit()
        second = await waiting
    assert second.payer_balance_after == first.payer_balance_after - order.amount - second.fee
    assert (second.tx_id or 0) > (first.tx_id or 0) > 0


async def test_a_batch_passes_one_that_waits_for_the_account_of_a_rival(registry: TestRegistry):
    payer, payee, other, another = [await registry.agent() for _ in range(4)]
    group = ledger.GroupCommit(registry.database, ledger.Book.of(registry.settings))
    async with rival_of(registry) as rival:
        locking = rival.transaction()
        await locking.start()
        await rival.execute("SELECT FROM ledger_account WHERE did = $1 FOR UPDATE", payer.did)
        waiting = asyncio.create_task(group.transfer(paying(payer, payee), None, str))
        while not await rival.fetchval(IS_BLOCKED):  # noqa: ASYNC110
            await asyncio.sleep(0)
        await asyncio.gather(*(group.transfer(paying(other, another), None, str) for _ in range(BATCH)))
        assert not waiting.done()
        await locking.commit()
        await waiting


async def test_fees_of_transactions_that_are_open_at_one_time_go_to_different_accounts(
    registry: TestRegistry,
):
    book = ledger.Book.of(registry.settings)
    collectors = await registry.database.read(
        lambda tx: tx.fetchval("SELECT ledger_collectors($1)", book.fee_collector)
    )
    agents = [await registry.agent() for _ in range(2 * len(collectors) + 2)]
    pairs = list(zip(agents[::2], agents[1::2], strict=True))
    collected = "SELECT array_agg(liquid ORDER BY id) FROM ledger_account WHERE did = ANY ($1)"
    before = await registry.database.read(lambda tx: tx.fetchval(collected, collectors))
    fees = []
    async with rival_of(registry) as observer, AsyncExitStack() as open_ones:
        for payer, payee in pairs[:-1]:
            rival = await open_ones.enter_async_context(rival_of(registry))
            await open_ones.enter_async_context(rival.transaction())
            fees.append((await posting.transfer(rival, paying(payer, payee), book)).fee)
        # All accounts are taken: the next one waits for the named account.
        order = paying(*pairs[-1])
        waiting = asyncio.create_task(
            registry.database.transaction(lambda tx: posting.transfer(tx, order, book))
        )
        while not await observer.fetchval(SOME_ARE_BLOCKED):  # noqa: ASYNC110
            await asyncio.sleep(0)
    fees[0] += (await waiting).fee
    after = await registry.database.read(lambda tx: tx.fetchval(collected, collectors))
    assert [now - then for now, then in zip(after, before, strict=True)] == fees
    assert all(fees)


async def test_the_numbers_of_the_events_of_a_transfer_follow_each_other_whatever_a_rival_draws(
    registry: TestRegistry,
):
    payer, payee = await registry.agent(), await registry.agent()
    group = ledger.GroupCommit(registry.database, ledger.Book.of(registry.settings))
    written = APPENDING.read_text()
    assert "nextval('journal_event_seq_seq')" in written
    await execute(registry, RIVAL_THAT_DRAWS)
    await execute(registry, written.replace("nextval('journal_event_seq_seq')", "number_beside_a_rival()"))
    try:
        await asyncio.gather(*(group.transfer(paying(payer, payee), None, str) for _ in range(BATCH)))
    finally:
        await execute(registry, written)
    rows = await registry.database.query(
        lambda tx: tx.fetch(
            f"SELECT e.seq, e.id, e.event_type FROM {ALL_EVENTS} e"
            " WHERE e.data ->> 'tx_id' IN (SELECT tx_id::text FROM journal_event WHERE tx_type = 'transfer')"
        )
    )
    assert len(rows) == len({row["seq"] for row in rows}) == len({row["id"] for row in rows}) == 3 * BATCH
    drawn = await registry.database.query(lambda tx: tx.fetch("SELECT number FROM drawn_by_a_rival"))
    assert len(drawn) >= 2
    assert {row["number"] for row in drawn}.isdisjoint(row["seq"] for row in rows)


async def execute(registry: TestRegistry, statements: str) -> None:
    """Run statements in one transaction."""
    await registry.database.transaction(lambda tx: tx.execute(statements))
