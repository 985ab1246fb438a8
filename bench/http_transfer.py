"""http/transfer: POST /teg/transfer on a running service, wrk with 64 connections, distinct keys, tokens prepared."""

import asyncio
import os
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import asyncpg

from bench.figures import Figures
from bench.seed import Pgbench, bench_runtime, seed_agents, sound_between, temporary_directory, use_log
from bench.wrk import drive, is_missing
from hansa.doors.startup import open_runtime
from hansa.foundation.plumbing.keys.tokens import TokenKind
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.settings import read_settings
from hansa.foundation.plumbing.storage.embedded import running_dsn

CONNECTIONS = 64
SECONDS = 5
# Three rounds of these are a million transfers where the route takes 4,000 a second.
SECONDS_FULL = 85
PERIODIC_TASKS = 3
PAYERS = 2000
FEW_ACCOUNTS = 64

_AGENTS = """
WITH added AS (
  INSERT INTO agents_agent (did, developer_id, client_id, client_secret_sha256, name, roles)
  SELECT d.did, 1, 'agent-' || lpad(d.n::text, 16, '0'), sha256(convert_to(d.did, 'UTF8')), 'Bench', '{trader,client}'
  FROM unnest($1::text[]) WITH ORDINALITY AS d (did, n) RETURNING id, did
)
INSERT INTO agents_key (agent_id, number, public_key) SELECT id, 1, sha256(convert_to(did, 'UTF8')) FROM added
"""


async def run(*, full: bool, workers: int = 1) -> Figures:
    """Measure a service of so many workers."""
    figures = Figures()
    if is_missing(figures):
        return figures
    async with temporary_directory() as directory:
        async with bench_runtime(directory) as runtime:
            dids = await seed_agents(runtime, 1_000_000 if full else 10_000)
            callers = await prepare_callers(runtime, dids[:PAYERS], directory)
        async with served(directory, workers) as service, beside(directory) as runtime:
            baseline = Pgbench(runtime.database.dsn)
            await baseline.prepare()
            await use_log(runtime)
            before = service.resident_mib()
            seconds = SECONDS_FULL if full else SECONDS
            done = 0
            for accounts, prepared in ((len(dids), callers), (FEW_ACCOUNTS, _first(callers, FEW_ACCOUNTS))):
                done += await _measure(
                    service,
                    prepared,
                    runtime,
                    baseline,
                    figures,
                    accounts=accounts,
                    seconds=seconds,
                    before=done,
                )
            figures.notes.append(
                f"memory of the service: {before:.0f} MiB before, {service.resident_mib():.0f} MiB after"
                f" {done:,} transfers"
            )
    return figures


async def _measure(
    service: "Service",
    callers: Path,
    runtime: Runtime,
    baseline: Pgbench,
    figures: Figures,
    *,
    accounts: int,
    seconds: int,
    before: int,
) -> int:
    """Figures of some rounds; returns how many transfers were acknowledged, `before` of them in earlier rounds not included."""
    ours, theirs, p99s, acknowledged, refused = [], [], [], 0, 0
    for number in range(PERIODIC_TASKS):
        driven = await drive(
            "transfer.lua",
            service.url,
            callers,
            f"{accounts}-{number}",
            connections=CONNECTIONS,
            seconds=seconds,
        )
        ours.append((driven.answered - driven.refused) / driven.seconds)
        p99s.append(driven.p99_ms)
        acknowledged += driven.answered - driven.refused
        refused += driven.refused
        theirs.append(await baseline.per_second(SECONDS))
    median_ours = figures.add(
        f"POST /teg/transfer, {service.named_workers}{CONNECTIONS} connections, {accounts:,} accounts",
        "/s",
        ours,
    )
    p99 = figures.add("p99", "ms", p99s)
    median_theirs = figures.add("pgbench TPC-B-like, 64 clients", "/s", theirs)
    figures.notes.append(
        f"{accounts:,} accounts: {median_ours / median_theirs:.2f} x pgbench, in the first round {ours[0] / theirs[0]:.2f} x;"
        f" p99 {p99 * median_theirs / 64_000:.2f} x its mean latency;"
        f" {refused} answers other than 2xx"
    )
    # What was under way when wrk stopped may be written without having been acknowledged.
    all_acknowledged = before + acknowledged
    figures.books_are_sound &= refused == 0 and await sound_between(
        runtime, all_acknowledged, all_acknowledged + 2 * CONNECTIONS * PERIODIC_TASKS
    )
    return acknowledged


def _first(callers: Path, number: int) -> Path:
    """A file of the first so many callers."""
    few = callers.with_name(f"callers-{number}.txt")
    few.write_text("".join(callers.read_text().splitlines(keepends=True)[:number]))
    return few


async def prepare_callers(runtime: Runtime, dids: list[str], directory: Path) -> Path:
    """A file of tokens and DIDs, one agent a line."""
    connection = await asyncpg.connect(runtime.database.dsn)
    await connection.execute(_AGENTS, dids)
    # As the server itself does a minute later.
    await connection.execute("ANALYZE")
    await connection.close()
    now = datetime.now(UTC)
    lines = [
        runtime.tokens.issue(
            TokenKind.AGENT, did, session=f"agent-{number:016}.1", now=now, lifetime=timedelta(hours=2)
        )
        + f" {did}\n"
        for number, did in enumerate(dids, start=1)
    ]
    callers = directory / "callers.txt"
    callers.write_text("".join(lines))
    return callers


@dataclass(frozen=True)
class Service:
    """A running service."""

    url: str
    pid: int
    workers: int = 1

    @property
    def named_workers(self) -> str:
        """How a figure names them, where there are several."""
        return f"{self.workers} workers, " if self.workers > 1 else ""

    def resident_mib(self) -> float:
        """Return the resident memory of its first process, in MiB."""
        found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{self.pid}/status").read_text())
        assert found
        return int(found[1]) / 1024


@asynccontextmanager
async def served(directory: Path, workers: int = 1, /, **settings: str) -> AsyncIterator[Service]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "hansa.doors.operate", "serve", "--port=0", f"--data-dir={directory}",
        f"--workers={workers}", stdout=asyncio.subprocess.PIPE, env={**os.environ, **settings},
    )  # fmt: skip
    assert process.stdout is not None
    try:
        line = (await process.stdout.readline()).decode()
        yield Service(line.removeprefix("ready ").strip(), process.pid, workers)
    finally:
        process.terminate()
        await process.wait()


@asynccontextmanager
async def beside(directory: Path) -> AsyncIterator[Runtime]:
    """A second look at the database of the running service."""
    settings = read_settings(data_dir=directory)
    async with open_runtime(settings, running_dsn(directory)) as runtime:
        yield runtime
