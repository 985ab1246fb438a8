"""journal/archive: a month of transfers is archived, verified offline and dropped, by the commands, beside transfers at a fixed rate."""

import asyncio
import os
import random
import resource
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from uuid import uuid4

import asyncpg

from bench.figures import Figures, percentile
from bench.restore import COMMAND
from bench.seed import WITHOUT_TIMEOUT, bench_runtime, grow_history, seed_agents, temporary_directory
from hansa.doors.assembly import ASSEMBLY
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.web.idempotency import Repeatable
from hansa.foundation.values.money import UNIT, Minor
from hansa.rooms import auditor, federation, journal, ledger
from hansa.rooms.journal.counting import count_settled
from hansa.rooms.journal.volume import add_settled_volume
from hansa.rooms.transfers.schemas import TransferOut
from hansa_verify import RegistryKey, verify_archive

ACCOUNTS, ACCOUNTS_FULL = 1_000, 10_000
TRANSFERS, TRANSFERS_FULL = 20_000, 1_000_000
COUNTED_IN = 10
PER_SECOND = 300
QUIET_SECONDS = 10
MONTH = "2025-08"

_AGE = (
    "SELECT journal_add_month('2025-08-01Z')",
    "ALTER TABLE journal_event DISABLE TRIGGER journal_append_only",
    """DO $$ DECLARE part text; BEGIN
      FOR part IN SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'journal_event'::regclass LOOP
        EXECUTE format('ALTER TABLE %s DISABLE TRIGGER journal_append_only', part);
      END LOOP; END $$""",
    "UPDATE journal_event SET recorded_at = '2025-08-02Z'::timestamptz + seq * interval '500 microseconds'",
    "VACUUM ANALYZE journal_event_2025_08",
)


async def run(*, full: bool) -> Figures:
    figures = Figures()
    accounts = ACCOUNTS_FULL if full else ACCOUNTS
    transfers = TRANSFERS_FULL if full else TRANSFERS
    async with temporary_directory() as directory:
        data, files = directory / "data", directory / "archive"
        files.mkdir()
        async with bench_runtime(data) as runtime:
            dids = await seed_agents(runtime, accounts)
            await grow_history(runtime, transfers, accounts)
            connection = await asyncpg.connect(runtime.database.dsn, server_settings=WITHOUT_TIMEOUT)
            for statement in _AGE:
                await connection.execute(statement)
            await connection.close()
            await _settle(runtime)
            async with _transfers(runtime, dids) as quiet:
                await asyncio.sleep(QUIET_SECONDS)
            async with _transfers(runtime, dids) as meanwhile:
                archived = await _hansa("archive", MONTH, f"--to={files}", f"--data-dir={data}")
            keys = [
                RegistryKey(key.kid, key.public_key, key.valid_from, key.retired_at)
                for key in await runtime.database.query(federation.all_keys)
            ]
            started = time.perf_counter()
            verdict = await asyncio.to_thread(verify_archive, files, MONTH, keys)
            verified = time.perf_counter() - started
            figures.books_are_sound &= verdict.is_valid
            async with _transfers(runtime, dids) as beside_drop:
                dropped = await _hansa("drop", MONTH, f"--archive={files}", f"--data-dir={data}")
            for audit in (auditor.audit, auditor.audit_from_zero):
                found = await runtime.database.transaction(audit, one_snapshot=True)
                figures.books_are_sound &= (found.status, found.supply.delta) == ("OK", 0)
        what = f"{transfers:,} transfers, {accounts:,} grants"
        figures.add(f"hansa journal archive, {what}", "s", [archived[0]])
        figures.add("its processor time, without that of the database", "s", [archived[1]])
        figures.add("verification of the archive", "s", [verified])
        figures.add("hansa journal drop, with a verification", "s", [dropped[0]])
        for name, latencies in (("", quiet), (" meanwhile", meanwhile), (" beside the drop", beside_drop)):
            p99 = percentile(sorted(latencies), 0.99) * 1000
            figures.add(f"p99 of transfers, {PER_SECOND} a second{name}", "ms", [p99])
        size = (files / f"journal-{MONTH}.parquet").stat().st_size
        figures.add("file of the archive, for each transfer", "bytes", [size / transfers])
    return figures


@asynccontextmanager
async def _transfers(runtime: Runtime, dids: list[str]) -> AsyncIterator[list[float]]:
    """Transfers at a fixed rate until the block ends; their latencies in seconds, from the moment at which each was due."""
    book = ledger.Book.of(runtime.settings)
    group_commit = ledger.GroupCommit(runtime.database, book)
    latencies: list[float] = []

    async def transfer(due: float) -> None:
        payer, payee = random.sample(dids, 2)
        order = ledger.TransferOrder(payer, payee, Minor(UNIT // 100))
        request = Repeatable(payer, "/teg/transfer", str(uuid4()), {"to": payee})
        await group_commit.transfer(
            order, request, partial(TransferOut.json_of, order=order, currency=book.currency)
        )
        latencies.append(time.perf_counter() - due)

    async def pace() -> None:
        due = time.perf_counter()
        async with asyncio.TaskGroup() as group:
            while not is_over.is_set():
                await asyncio.sleep(max(0.0, due - time.perf_counter()))
                group.create_task(transfer(due))
                due += 1 / PER_SECOND

    is_over = asyncio.Event()
    paced = asyncio.create_task(pace())
    try:
        yield latencies
    finally:
        is_over.set()
        await paced


async def _settle(runtime: Runtime) -> None:
    """Let jobs and audits pass the end of the log."""
    for reactor in ASSEMBLY.reactors:
        await runtime.database.transaction(partial(journal.pass_over, name=reactor.name))
    for _ in range(3):
        await runtime.database.transaction(auditor.audit, one_snapshot=True)
    connection = await asyncpg.connect(runtime.database.dsn, server_settings=WITHOUT_TIMEOUT)
    try:
        # Each adds so many events at once.
        for _ in range(COUNTED_IN):
            await count_settled(connection)
            await add_settled_volume(connection)
    finally:
        await connection.close()


async def _hansa(*arguments: str) -> tuple[float, float]:
    """Return the seconds until the command has ended, and its processor time, without that of the database."""
    started, used = time.perf_counter(), _used_by_children()
    process = await asyncio.create_subprocess_exec(
        *(str(COMMAND), "journal", *arguments),
        env={**os.environ, "RETENTION_MONTHS": "1"},
        stdout=asyncio.subprocess.DEVNULL,
    )
    assert await process.wait() == 0, arguments
    return time.perf_counter() - started, _used_by_children() - used


def _used_by_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
