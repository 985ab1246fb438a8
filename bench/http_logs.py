"""http/logs: 5,000 entries of logs a second in batches of 100, beside transfers, against transfers alone in the same run.

Transfers and entries come at fixed rates; the delay of a late one counts from when it was due. Each round measures transfers alone,
then beside entries. Metrics of the agents are counted meanwhile, as always. Processor time is of the service and its database.
"""

import asyncio
from pathlib import Path
from statistics import median

from bench.figures import Figures
from bench.http_transfer import PAYERS, Service, prepare_callers, served
from bench.process_cpu import used_by
from bench.seed import bench_runtime, seed_agents, sound_between, temporary_directory
from bench.wrk import Driven, drive, is_missing
from hansa.foundation.plumbing.process.runtime import Runtime

ACCOUNTS = 10_000
TRANSFERS_PER_SECOND, TRANSFER_THREADS = 1000, 8
ENTRIES_PER_SECOND, ENTRIES_AT_ONCE, LOG_THREADS = 5000, 100, 4
SECONDS, SECONDS_FULL = 10, 60
# Entries begin a second before the transfers that they are measured beside, and end a second later.
LONGER_SECONDS = 2
PERIODIC_TASKS = 5
P99_RATIO_MAX = 1.1
# A generator at a fixed rate begins each thread at a moment of its own.
RATE_SHARE_MIN = 0.95


async def run(*, full: bool) -> Figures:
    figures = Figures()
    if is_missing(figures):
        return figures
    async with temporary_directory() as directory:
        async with bench_runtime(directory) as runtime:
            dids = await seed_agents(runtime, ACCOUNTS)
            callers = await prepare_callers(runtime, dids[:PAYERS], directory)
        async with served(directory, TRUSTED_PROXIES="127.0.0.1", LOG_LEVEL="error") as service:
            rounds = _Rounds(service, callers, figures, SECONDS_FULL if full else SECONDS)
            await rounds.measure()
        async with bench_runtime(directory) as runtime:
            transfers_are_sound = await sound_between(runtime, rounds.least, rounds.most)
            figures.books_are_sound = transfers_are_sound and await _logs_are_sound(runtime, rounds)
    return figures


async def _logs_are_sound(runtime: Runtime, rounds: "_Rounds") -> bool:
    """The logs have every accepted entry, and count what they have; the generators are few enough that nothing was cut."""
    row = await runtime.database.read(
        lambda tx: tx.fetchrow(
            "SELECT (SELECT count(*) FROM operations_log_entry) AS stored, coalesce(sum(entries), 0)::bigint AS counted"
            " FROM operations_log"
        )
    )
    assert row is not None
    under_way = ENTRIES_AT_ONCE * LOG_THREADS * (PERIODIC_TASKS + 1)
    is_stored: bool = rounds.accepted <= row["stored"] <= rounds.accepted + under_way
    return is_stored and row["stored"] == row["counted"]


class _Rounds:
    """Rounds of transfers alone and beside entries, in turn."""

    def __init__(self, service: Service, callers: Path, figures: Figures, seconds: int) -> None:
        self._service, self._callers = service, callers
        self._figures, self._seconds = figures, seconds
        self.least = self.most = self.accepted = 0

    async def measure(self) -> None:
        alone, beside, entries, cpu_alone, cpu_beside = [], [], [], [], []
        await self._transfers("warm")
        for number in range(PERIODIC_TASKS):
            before = used_by(self._service.pid)
            alone.append(await self._transfers(f"alone{number}"))
            between = used_by(self._service.pid)
            writing = asyncio.create_task(self._entries(f"log{number}"))
            await asyncio.sleep(LONGER_SECONDS / 2)
            beside.append(await self._transfers(f"beside{number}"))
            entries.append(await writing)
            cpu_alone.append(100 * (between - before) / self._seconds)
            cpu_beside.append(100 * (used_by(self._service.pid) - between) / (self._seconds + LONGER_SECONDS))
        self._report(alone, beside, entries)
        self._figures.add("processor time, transfers alone", "% core", cpu_alone)
        self._figures.add("processor time beside entries", "% core", cpu_beside)

    def _report(self, alone: list[Driven], beside: list[Driven], entries: list[Driven]) -> None:
        accepted = [ENTRIES_AT_ONCE * (one.answered - one.refused) / one.seconds for one in entries]
        rate = self._figures.add("entries accepted", "/s", accepted)
        self._figures.add("  p99 of a batch of 100", "ms", [one.p99_ms for one in entries])
        for name, measured in (("alone", alone), ("beside entries", beside)):
            self._figures.add(f"transfers {name}", "/s", [one.per_second for one in measured])
            self._figures.add("  p99", "ms", [one.p99_ms for one in measured])
        ratio = median(one.p99_ms for one in beside) / median(one.p99_ms for one in alone)
        self._figures.notes.append(
            f"p99 of {TRANSFERS_PER_SECOND:,} transfers a second beside {rate:,.0f} entries: {ratio:.2f} of that alone,"
            f" bound {P99_RATIO_MAX}; entries wanted {ENTRIES_PER_SECOND:,}/s"
        )
        refused = sum(one.refused for one in (*alone, *beside, *entries))
        if refused:
            self._figures.faults.append(f"{refused} requests were refused or not answered")
        if rate < RATE_SHARE_MIN * ENTRIES_PER_SECOND:
            self._figures.faults.append(f"{rate:,.0f} entries a second are fewer than wanted")

    async def _transfers(self, name: str) -> Driven:
        driven = await self._paced("transfer", TRANSFER_THREADS, TRANSFERS_PER_SECOND, name, self._seconds)
        self.least += driven.answered - driven.refused
        self.most += driven.answered + TRANSFER_THREADS
        return driven

    async def _entries(self, name: str) -> Driven:
        batches = ENTRIES_PER_SECOND / ENTRIES_AT_ONCE
        driven = await self._paced("log", LOG_THREADS, batches, name, self._seconds + LONGER_SECONDS)
        self.accepted += ENTRIES_AT_ONCE * (driven.answered - driven.refused)
        return driven

    async def _paced(self, kind: str, threads: int, per_second: float, name: str, seconds: int) -> Driven:
        return await drive(
            *("paced.lua", self._service.url, kind, self._callers, 1000 * threads / per_second, name),
            connections=threads,
            threads=threads,
            seconds=seconds,
        )
