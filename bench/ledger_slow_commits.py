"""ledger/slow-commits: transfers by 1, 2 and 4 processes where each commit takes some milliseconds longer.

`commit_delay` with `commit_siblings = 0` has each flush of the log wait, as a slower disk or a synchronous standby does. The row of
the fee collector is locked until the commit: batches of all processes take turns at it, transactions of pgbench do not.
"""

import asyncpg

from bench.figures import Figures
from bench.http_transfer import CONNECTIONS, PAYERS, beside, prepare_callers, served
from bench.seed import Pgbench, bench_runtime, seed_agents, sound_between, temporary_directory, use_log
from bench.wrk import drive, is_missing

ACCOUNTS = 10_000
WORKERS = (1, 2, 4)
DELAYS_MS = (0, 2)
MANY_CONNECTIONS = 512
SECONDS, SECONDS_FULL = 5, 20


async def run(*, full: bool) -> Figures:
    figures = Figures()
    if is_missing(figures):
        return figures
    seconds = SECONDS_FULL if full else SECONDS
    async with temporary_directory() as directory:
        async with bench_runtime(directory) as runtime:
            dids = await seed_agents(runtime, ACCOUNTS)
            callers = await prepare_callers(runtime, dids[:PAYERS], directory)
        acknowledged = rounds = 0
        for workers in WORKERS:
            async with served(directory, workers) as service, beside(directory) as runtime:
                if not rounds:
                    baseline = Pgbench(runtime.database.dsn)
                    await baseline.prepare()
                    await use_log(runtime)
                for delay in DELAYS_MS:
                    await _delay_commits(runtime.database.dsn, delay)
                    where = f"{workers} processes, commits {delay} ms slower"
                    for connections in (CONNECTIONS, MANY_CONNECTIONS):
                        driven = await drive(
                            "transfer.lua",
                            service.url,
                            callers,
                            f"{workers}-{delay}-{connections}",
                            connections=connections,
                            seconds=seconds,
                        )
                        rounds += 1
                        acknowledged += driven.answered - driven.refused
                        figures.books_are_sound &= driven.refused == 0
                        figures.add(
                            f"transfers, {connections} connections, {where}", "/s", [driven.per_second]
                        )
                        figures.add("p99", "ms", [driven.p99_ms])
                    if workers == WORKERS[0]:
                        figures.add(
                            f"pgbench TPC-B-like, {CONNECTIONS} clients, commits {delay} ms slower",
                            "/s",
                            [await baseline.per_second(seconds, CONNECTIONS)],
                        )
                await _delay_commits(runtime.database.dsn, 0)
                figures.books_are_sound &= await sound_between(
                    runtime, acknowledged, acknowledged + 2 * MANY_CONNECTIONS * rounds
                )
    return figures


async def _delay_commits(dsn: str, milliseconds: int) -> None:
    connection = await asyncpg.connect(dsn)
    await connection.execute(f"ALTER SYSTEM SET commit_delay = {milliseconds * 1000}")
    await connection.execute("ALTER SYSTEM SET commit_siblings = 0")
    await connection.execute("SELECT pg_reload_conf()")
    await connection.close()
