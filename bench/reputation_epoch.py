"""reputation/epoch: the scores of all agents from zero, signals entering the records, and reads of scores, with jobs drawn at random."""

import random
import time
from datetime import UTC, datetime
from functools import partial

import asyncpg

from bench.figures import Figures, percentile
from bench.seed import WITHOUT_TIMEOUT, bench_runtime, temporary_directory
from hansa.foundation.plumbing.jobs import enqueue
from hansa.foundation.plumbing.jobs.running import run_in_transaction
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.rooms.reputation.scores import RECORD_SIGNALS, compute_epoch, store
from hansa.rooms.reputation.scores.epochs import AT_ONCE

READS = 2000
ROUNDS_OF_RECORDING = 5
# Jobs of the last half year between two agents out of $2; one in fifty is a ruling. They are in the records already.
_SIGNALS = """
INSERT INTO reputation_signal (event_seq, event_type, kind, at, giver, receiver, amount, fee, counts)
SELECT n, 'A2APaymentSettled',
  CASE WHEN n % 100 = 0 THEN 'ruling_for_complainant' WHEN n % 100 = 50 THEN 'ruling_for_defendant' ELSE 'payment' END,
  now() - make_interval(days => (1 + n % 180)::int), 'did:hansa:hansa.local:bench-' || giver,
  'did:hansa:hansa.local:bench-' || (giver + 1 + (random() * ($2::int - 2))::int) % $2::int, 100000000, 1 + (random() * 10000000)::int, true
FROM (SELECT n, (random() * ($2::int - 1))::int AS giver FROM generate_series($3::bigint, $3 + $1 - 1) n) drawn
"""


async def run(*, full: bool) -> Figures:
    figures = Figures()
    jobs, agents = (1_000_000, 100_000) if full else (100_000, 10_000)
    async with temporary_directory() as directory, bench_runtime(directory) as runtime:
        await _add_signals(runtime, jobs, agents, first=1)
        await runtime.database.transaction(lambda tx: store.set_recorded(tx, jobs))
        await _compute(runtime, jobs, agents, figures)
        await _read(runtime, agents, figures)
        await _record(runtime, jobs, agents, figures)
    figures.notes.append("targets: 1,000,000 jobs 60 s, signals in the records 1 s, reads p99 10 ms")
    return figures


async def _add_signals(runtime: Runtime, count: int, agents: int, *, first: int) -> None:
    connection = await asyncpg.connect(runtime.database.dsn, server_settings=WITHOUT_TIMEOUT)
    await connection.execute(_SIGNALS, count, agents, first, timeout=300)
    await connection.execute("VACUUM ANALYZE reputation_signal", timeout=300)
    await connection.close()


async def _compute(runtime: Runtime, jobs: int, agents: int, figures: Figures) -> None:
    started = time.perf_counter()
    await compute_epoch(runtime, datetime.now(UTC).date())
    seconds = time.perf_counter() - started
    figures.add(f"epoch from zero, {jobs:,} jobs, {agents:,} agents", "s", [seconds])
    figures.notes.append(f"1,000,000 jobs in proportion: {seconds * 1_000_000 / jobs:.0f} s")
    scored = await runtime.database.query(lambda tx: tx.fetchval("SELECT count(*) FROM reputation_score"))
    figures.books_are_sound &= scored == agents


async def _read(runtime: Runtime, agents: int, figures: Figures) -> None:
    durations = []
    for number in random.Random(1).choices(range(agents), k=READS):
        did = f"did:hansa:hansa.local:bench-{number}"
        started = time.perf_counter()
        await runtime.database.query(partial(store.reputation_of, agent_did=did))
        await runtime.database.query(partial(store.track_record, agent_did=did))
        durations.append((time.perf_counter() - started) * 1000)
    figures.add("score and track record of an agent, p99", "ms", [percentile(sorted(durations), 0.99)])


async def _record(runtime: Runtime, jobs: int, agents: int, figures: Figures) -> None:
    """Record as many signals as one turn of the job takes; each of them is in a record afterwards."""
    durations = []
    for turn in range(ROUNDS_OF_RECORDING):
        await _add_signals(runtime, AT_ONCE, agents, first=jobs + 1 + turn * AT_ONCE)
        await runtime.database.transaction(lambda tx: enqueue(tx, RECORD_SIGNALS.name, "all"))
        started = time.perf_counter()
        while await run_in_transaction(runtime, RECORD_SIGNALS):
            pass
        durations.append(time.perf_counter() - started)
    figures.add(f"{AT_ONCE} signals enter the records", "s", durations)
    last = await runtime.database.query(lambda tx: tx.fetchval("SELECT recorded FROM reputation_progress"))
    newest = await runtime.database.query(store.last_signal)
    figures.books_are_sound &= last == newest
