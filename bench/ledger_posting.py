"""ledger/posting: 64 callers in one process, distinct keys, against pgbench TPC-B-like with 64 clients in the same run."""

import asyncio
import random
import time
from collections.abc import Callable
from functools import partial
from uuid import uuid4

from bench.database_counters import DatabaseCounters
from bench.figures import Figures, percentile
from bench.seed import (
    Pgbench,
    bench_runtime,
    grow_history,
    seed_agents,
    sound_between,
    temporary_directory,
    use_log,
)
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.web.idempotency import Repeatable
from hansa.foundation.values.money import UNIT, Minor
from hansa.rooms import ledger
from hansa.rooms.transfers.schemas import TransferOut

CALLERS = 64
SECONDS = 5
# With two parties each, 98 % of the pages of accounts, of which one holds about twenty, are changed once and thereby logged whole.
WARMED_SHARE = 10
# After many events the same holds for the index of postings: by then each of its pages was changed several times.
WARMED_SECONDS = 60
PERIODIC_TASKS = 3


async def run(*, full: bool, accounts: list[int] | None = None, events: int = 0) -> Figures:
    """`accounts`: the numbers of accounts to measure at, each after so many `events`; otherwise a few sizes of both."""
    figures = Figures()
    for count in accounts or ((1_000, 100_000, 1_000_000) if full else (1_000, 100_000)):
        await _measure_at(figures, count, past_transfers=events // 2)
    if full and not accounts:
        await _measure_at(figures, 100_000, past_transfers=5_000_000)
    return figures


async def _measure_at(figures: Figures, accounts: int, past_transfers: int) -> None:
    async with temporary_directory() as directory, bench_runtime(directory) as runtime:
        dids = await seed_agents(runtime, accounts)
        if past_transfers:
            await grow_history(runtime, past_transfers, accounts)
        baseline = Pgbench(runtime.database.dsn)
        await baseline.prepare()
        await use_log(runtime)
        await _measure(runtime, dids, baseline, figures, past_transfers=past_transfers)


async def _measure(
    runtime: Runtime, dids: list[str], baseline: Pgbench, figures: Figures, *, past_transfers: int
) -> None:
    where = f"{len(dids):,} accounts" + (f", {2 * past_transfers:,} events" if past_transfers else "")
    ours, theirs, p99s, wal, acknowledged = [], [], [], [], past_transfers
    cpu = []
    # Just after a checkpoint the log would be of whole pages, as it is not in most of the time between two.
    warm_seconds = WARMED_SECONDS if past_transfers else 0
    warming, _ = await _storm(
        runtime, dids, lambda done, seconds: done >= len(dids) // WARMED_SHARE and seconds >= warm_seconds
    )
    acknowledged += warming
    counters = await DatabaseCounters.begin(runtime.database.dsn)
    for _ in range(PERIODIC_TASKS):
        await counters.before()
        began = time.process_time()
        done, latencies = await _storm(runtime, dids, lambda _, seconds: seconds >= SECONDS)
        cpu.append((time.process_time() - began) / done * 1e6)
        wal.append(await counters.after(done))
        ours.append(done / SECONDS)
        p99s.append(percentile(latencies, 0.99) * 1000)
        acknowledged += done
        theirs.append(await baseline.per_second(SECONDS))
    median_ours = figures.add(f"transfers, {CALLERS} callers, {where}", "/s", ours)
    figures.add(f"p99, {where}", "ms", p99s)
    figures.add(f"WAL per transfer, {where}", "bytes", wal)
    figures.add(f"CPU of this process per transfer, {where}", "us", cpu)
    median_theirs = figures.add("pgbench TPC-B-like, 64 clients", "/s", theirs)
    figures.notes.append(f"{where}: {median_ours / median_theirs:.2f} x pgbench")
    figures.notes += await counters.finish()
    figures.books_are_sound &= await sound_between(runtime, acknowledged, acknowledged)


async def _storm(
    runtime: Runtime, dids: list[str], is_over: Callable[[int, float], bool]
) -> tuple[int, list[float]]:
    """Transfers by all callers until `is_over`, called with their number and the seconds since the begin; the number, the latencies."""
    book = ledger.Book.of(runtime.settings)
    desk = ledger.GroupCommit(runtime.database, book)
    latencies: list[float] = []
    began = time.perf_counter()

    async def call() -> None:
        while not is_over(len(latencies), (started := time.perf_counter()) - began):
            payer, payee = random.sample(dids, 2)
            order = ledger.TransferOrder(payer, payee, Minor(UNIT // 100))
            request = Repeatable(payer, "/teg/transfer", str(uuid4()), {"to": payee})
            await desk.transfer(
                order, request, partial(TransferOut.json_of, order=order, currency=book.currency)
            )
            latencies.append(time.perf_counter() - started)

    await asyncio.gather(*(call() for _ in range(CALLERS)))
    return len(latencies), sorted(latencies)
