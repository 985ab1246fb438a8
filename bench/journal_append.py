"""journal/append: events written 100 to a transaction by 8 callers, against pgbench with 8 clients in the same run."""

import asyncio
import time

from bench.figures import Figures
from bench.seed import Pgbench, bench_runtime, temporary_directory
from hansa.foundation.events import AgentOnboarded
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.rooms import journal

CALLERS = 8
EVENTS = 100
SECONDS = 4
PERIODIC_TASKS = 3


async def run(*, full: bool) -> Figures:
    figures = Figures()
    async with temporary_directory() as directory, bench_runtime(directory) as runtime:
        baseline = Pgbench(runtime.database.dsn)
        await baseline.prepare()
        ours, theirs, written = [], [], 0
        for _ in range(PERIODIC_TASKS * (4 if full else 1)):
            events = await _storm(runtime)
            written += events
            ours.append(events / SECONDS)
            theirs.append(await baseline.per_second(SECONDS, clients=CALLERS))
        median_ours = figures.add(
            f"events appended, {EVENTS} to a transaction, {CALLERS} callers", "/s", ours
        )
        median_theirs = figures.add(f"pgbench TPC-B-like, {CALLERS} clients", "/s", theirs)
        figures.notes.append(f"ratio {median_ours / median_theirs:.2f} x pgbench")
        stored = await runtime.database.query(
            lambda tx: tx.fetchval("SELECT count(*) FROM journal_event WHERE event_type = 'AgentOnboarded'")
        )
        figures.books_are_sound = stored == written
    return figures


async def _storm(runtime: Runtime) -> int:
    end = time.perf_counter() + SECONDS
    batches = 0

    async def call(caller: int) -> None:
        nonlocal batches
        while time.perf_counter() < end:
            events = [
                AgentOnboarded(f"did:hansa:hansa.local:bench-{caller}-{number}", "card", False, "disabled")
                for number in range(EVENTS)
            ]
            await _append(runtime, events)
            batches += 1

    await asyncio.gather(*(call(caller) for caller in range(CALLERS)))
    return batches * EVENTS


async def _append(runtime: Runtime, events: list[AgentOnboarded]) -> None:
    await runtime.database.transaction(lambda tx: journal.append(tx, *events))
