"""http/tiles: tiles of hashes and of entries of the log on a running service, wrk with 64 connections."""

from bench.figures import Figures
from bench.http_transfer import CONNECTIONS, served
from bench.seed import bench_runtime, temporary_directory
from bench.wrk import drive, is_missing
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.log_outbox import record_leaf
from hansa.rooms import auditor

SECONDS = 4
ROUNDS = 3
LEAVES = 2_560
BASELINE = "/livez"
PATHS = (BASELINE, "/log/tile/0/00", "/log/tile/entries/00")


async def run(*, full: bool) -> Figures:
    figures = Figures()
    if is_missing(figures):
        return figures
    leaves = LEAVES * 10 if full else LEAVES
    async with temporary_directory() as directory:
        async with bench_runtime(directory) as runtime:
            await runtime.database.transaction(lambda tx: _record(tx, leaves))
            await auditor.run_cycle(runtime)
        async with served(directory, RATE_LIMIT_READS="off") as service:
            rates: dict[str, list[float]] = {path: [] for path in PATHS}
            p99s: dict[str, list[float]] = {path: [] for path in PATHS}
            for _ in range(ROUNDS):
                for path in PATHS:
                    driven = await drive(
                        "tiles.lua", service.url, path, connections=CONNECTIONS, seconds=SECONDS
                    )
                    figures.books_are_sound &= driven.refused == 0
                    rates[path].append(driven.per_second)
                    p99s[path].append(driven.p99_ms)
    for path in PATHS:
        figures.add(f"GET {path}, {CONNECTIONS} connections", "/s", rates[path])
        figures.add(f"p99 of {path}", "ms", p99s[path])
    return figures


async def _record(tx: Tx, leaves: int) -> None:
    for number in range(leaves):
        await record_leaf(tx, "card", f"bench/{number}", bytes(32))
