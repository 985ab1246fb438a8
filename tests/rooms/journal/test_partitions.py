"""The log lies in one partition for each month, and nobody who reads or writes it notices."""

from datetime import UTC, datetime
from uuid import uuid4

import asyncpg
import pytest

from hansa.foundation.events import AgentOnboarded
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import journal
from hansa.rooms.journal import participants_store
from tests.registry import TestRegistry

CHANGES = ["UPDATE {} SET data = '{{}}'", "DELETE FROM {}", "TRUNCATE {}"]

INSERT = """
INSERT INTO journal_event (event_type, aggregate_id, aggregate_type, data, source_service, recorded_at, idempotency_key)
VALUES ('AgentOnboarded', 'did:x', 'agent', '{}', 'registry', $1, $2) RETURNING tableoid::regclass::text
"""

INSERT_TRANSFER = """
INSERT INTO journal_event (event_type, aggregate_id, aggregate_type, source_service, recorded_at, terms, admitted, tx_id,
  tx_type, payee, amount, fee, payer_after, payee_after, idempotency_key)
VALUES ('LedgerBalanceChanged', 'did:x', 'ledger_transaction', 'ledger', $1,
  journal_terms_of('hansa.local', 'AVT', 'did:c'), 1, $2, 'transfer', 'did:y', 1, 0, 0, 1, $3)
RETURNING seq
"""


async def partitions(registry: TestRegistry) -> set[str]:
    rows = await registry.database.query(
        lambda tx: tx.fetch(
            "SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = 'journal_event'::regclass"
        )
    )
    return {row["name"] for row in rows}


def month_name(months_ahead: int) -> str:
    today = datetime.now(UTC)
    year, month = divmod(today.year * 12 + today.month - 1 + months_ahead, 12)
    return f"journal_event_{year}_{month + 1:02}"


async def put(registry: TestRegistry, recorded_at: datetime, key: str | None = None) -> str:
    return await registry.database.transaction(lambda tx: tx.fetchval(INSERT, recorded_at, key))


async def test_this_month_and_the_next_ones_have_their_partitions(registry: TestRegistry):
    wanted = {month_name(ahead) for ahead in range(4)}
    assert wanted <= await partitions(registry)
    before = await partitions(registry)
    await registry.database.transaction(journal.keep_partitions_ahead)
    assert await partitions(registry) == before


async def test_every_partition_refuses_changes_and_keeps_keys_apart(registry: TestRegistry):
    past, future = datetime(2001, 5, 1, tzinfo=UTC), datetime(2901, 5, 1, tzinfo=UTC)
    await registry.database.transaction(
        lambda tx: tx.execute("SELECT journal_add_month($1), journal_add_month($2)", past, future)
    )
    assert await put(registry, past, "a") == "journal_event_2001_05"
    assert await put(registry, future, "a") == "journal_event_2901_05"
    assert await put(registry, datetime(2801, 5, 1, tzinfo=UTC), "a") == "journal_event_default"
    for timestamp in (past, future, datetime(2801, 5, 1, tzinfo=UTC)):
        with pytest.raises(asyncpg.UniqueViolationError):
            await put(registry, timestamp, "a")
    for name in await partitions(registry):
        for change in CHANGES:
            with pytest.raises(asyncpg.IntegrityConstraintViolationError, match="append-only"):
                await registry.database.transaction(
                    lambda tx, name=name, change=change: tx.execute(change.format(name))
                )


async def test_every_partition_holds_one_row_for_a_transfer_and_finds_it_by_its_key(registry: TestRegistry):
    past = datetime(2001, 5, 1, tzinfo=UTC)
    await registry.database.transaction(lambda tx: tx.execute("SELECT journal_add_month($1)", past))
    for timestamp, tx_id, stored_key in (
        (past, 4_000_000_001, None),
        (datetime.now(UTC), 4_000_000_002, None),
        # As rows of older versions have it.
        (datetime.now(UTC), 4_000_000_003, "ledger-tx-hansa.local-4000000003"),
        (datetime(2801, 5, 1, tzinfo=UTC), 4_000_000_004, None),
    ):
        given = (INSERT_TRANSFER, timestamp, tx_id)
        seq = await registry.database.transaction(
            lambda tx, given=given, key=stored_key: tx.fetchval(*given, key)
        )
        for again in (None, stored_key):
            with pytest.raises(asyncpg.UniqueViolationError):
                await registry.database.transaction(
                    lambda tx, given=given, key=again: tx.fetchval(*given, key)
                )
        for key, found in ((f"ledger-tx-hansa.local-{tx_id}", seq), (f"ledger-tx-other-{tx_id}", None)):
            assert await registry.database.query(lambda tx, key=key: journal.sequence_of(tx, key)) == found


async def test_the_edges_of_a_month_are_those_of_utc(registry: TestRegistry):
    await registry.database.transaction(
        lambda tx: tx.execute(
            "SET LOCAL timezone = 'Asia/Tokyo'; SELECT journal_add_month('2001-05-15Z'), journal_add_month('2001-06-01T00:00Z')"
        )
    )
    assert await put(registry, datetime(2001, 5, 31, 23, 59, 59, tzinfo=UTC)) == "journal_event_2001_05"
    assert await put(registry, datetime(2001, 6, 1, tzinfo=UTC)) == "journal_event_2001_06"
    assert await put(registry, datetime(2001, 4, 30, 23, 59, 59, tzinfo=UTC)) == "journal_event_default"


async def test_a_month_that_began_in_the_default_partition_stays_there(registry: TestRegistry):
    timestamp = datetime(2001, 5, 1, tzinfo=UTC)
    await put(registry, timestamp)
    made = await registry.database.transaction(
        lambda tx: tx.fetchval("SELECT journal_add_month($1)", timestamp)
    )
    assert made is False
    assert await put(registry, timestamp) == "journal_event_default"


async def test_partitions_wait_no_longer_than_half_a_second_for_readers(registry: TestRegistry):
    async with registry.database._connection() as reader, reader.transaction():
        await reader.fetch("SELECT count(*) FROM journal_event")
        with pytest.raises(asyncpg.LockNotAvailableError):
            async with registry.database._connection() as other:
                await other.execute("SELECT journal_add_month('2001-05-01Z')")


LOOKUPS = {
    "by key": "SELECT * FROM journal_event WHERE idempotency_key = ANY ($1::text[])",
    "by transaction": "SELECT * FROM journal_event WHERE tx_id = 7 AND idempotency_key IS NULL",
    "by aggregate": "SELECT * FROM journal_event WHERE aggregate_id = 'x' AND event_type NOT IN"
    " ('LedgerBalanceChanged', 'TokensTransferred', 'TransactionFeeCollected')",
    "newest": "SELECT * FROM journal_event ORDER BY seq DESC LIMIT 60",
    "in order": "SELECT * FROM journal_event WHERE (xid, seq) > (100000, 5) ORDER BY xid, seq LIMIT 60",
    "last": "SELECT max(seq) FROM journal_event",
}


async def test_every_lookup_goes_by_an_index_on_every_partition(registry: TestRegistry):
    async def explain(tx: Tx) -> dict[str, list[str]]:
        await tx.execute("SET LOCAL enable_seqscan = off")
        plans = {}
        for name, query in LOOKUPS.items():
            values = [["a", "b"]] if "$1" in query else []
            rows = await tx.fetch(f"EXPLAIN (COSTS OFF) {query}", *values)
            plans[name] = [row[0] for row in rows]
        return plans

    for name, plan in (await registry.database.transaction(explain)).items():
        assert not [line for line in plan if "Seq Scan" in line or ("Sort" in line and "Key" not in line)], (
            name
        )
        assert any("Index" in line for line in plan), name


OF_A_DID = {
    participants_store._FILED_AFTER: ("did:x", 0, 0, 15),
    participants_store._FILED_BEFORE: ("did:x", 9, 9, 15),
    participants_store._COUNT_FILED: ("did:x",),
    participants_store._NEWER_OF_KEYS: ("did:x", [1, 2], ["a", "b"], 0, 15),
    participants_store._OLDER_OF_KEYS: ("did:x", [1, 2], ["a", "b"], 9, 15),
    participants_store._COUNT_OF_KEYS: ("did:x", [1, 2], ["a", "b"]),
    participants_store._LEFT_OUT: (["TokensTransferred"],),
}


async def test_the_events_of_a_did_are_found_by_an_index_on_every_partition(registry: TestRegistry):
    async def scanned(tx: Tx) -> list[str]:
        await tx.execute("SET LOCAL enable_seqscan = off")
        lines = []
        for statement, values in OF_A_DID.items():
            rows = await tx.fetch(f"EXPLAIN (COSTS OFF) {statement}", *values)
            lines += [row[0] for row in rows if "Seq Scan on journal_event" in row[0]]
        return lines

    assert await registry.database.transaction(scanned) == []


def onboarded() -> AgentOnboarded:
    return AgentOnboarded(
        did=f"did:{uuid4()}", card_id="card", first_agent=False, initial_funding_status="none"
    )


async def test_who_listens_is_notified_of_each_append(registry: TestRegistry):
    notified: list[str] = []
    listener = await asyncpg.connect(registry.database.dsn)
    await listener.add_listener("hansa_journal", lambda *parts: notified.append(parts[3]))
    for _ in range(3):
        await registry.database.transaction(lambda tx: journal.append(tx, onboarded(), onboarded()))
    await listener.execute("SELECT 1")
    assert notified == [""] * 3
    await listener.close()


async def test_of_appends_that_overlap_one_notifies_for_all(registry: TestRegistry):
    notified: list[str] = []
    listener = await asyncpg.connect(registry.database.dsn)
    await listener.add_listener("hansa_journal", lambda *parts: notified.append(parts[3]))
    async with (
        registry.database._connection() as one,
        registry.database._connection() as other,
        one.transaction(),
        other.transaction(),
    ):
        await journal.append(one, onboarded())
        await journal.append(other, onboarded())
    await listener.execute("SELECT 1")
    assert len(notified) == 1
    await listener.close()
