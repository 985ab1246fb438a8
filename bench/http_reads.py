"""http/reads: GET /agents/me and GET /teg/balance on a running service, wrk with 64 connections."""

from bench.figures import Figures
from bench.http_transfer import CONNECTIONS, PAYERS, prepare_callers, served
from bench.seed import bench_runtime, seed_agents, temporary_directory
from bench.wrk import drive, is_missing

SECONDS = 4
PERIODIC_TASKS = 3
BASELINE = "/livez"
PATHS = (BASELINE, "/api/v1/agents/me", "/api/v1/teg/balance")


async def run(*, full: bool) -> Figures:
    figures = Figures()
    if is_missing(figures):
        return figures
    async with temporary_directory() as directory:
        async with bench_runtime(directory) as runtime:
            dids = await seed_agents(runtime, 1_000_000 if full else 10_000)
            callers = await prepare_callers(runtime, dids[:PAYERS], directory)
        async with served(directory) as service:
            rates: dict[str, list[float]] = {path: [] for path in PATHS}
            p99s: dict[str, list[float]] = {path: [] for path in PATHS}
            for _ in range(PERIODIC_TASKS):
                for path in PATHS:
                    driven = await drive(
                        "reads.lua", service.url, callers, path, connections=CONNECTIONS, seconds=SECONDS
                    )
                    figures.books_are_sound &= driven.refused == 0
                    rates[path].append(driven.per_second)
                    p99s[path].append(driven.p99_ms)
    medians = {
        path: figures.add(f"GET {path}, {CONNECTIONS} connections", "/s", rates[path]) for path in PATHS
    }
    for path in PATHS[1:]:
        figures.add(f"p99 of {path}", "ms", p99s[path])
        figures.notes.append(f"{path}: {medians[path] / medians[BASELINE]:.2f} x {BASELINE}")
    return figures
