"""http/reads: GET /agents/me and GET /teg/balance on a running service, wrk with 64 connections."""

import asyncio
import re
from pathlib import Path
from shutil import which

from bench.figures import Figures
from bench.ground import bench_runtime, seed_agents, temporary_directory
from bench.http_transfer import CONNECTIONS, PAYERS, prepare_callers, served

SECONDS = 4
ROUNDS = 3
BASELINE = "/livez"
PATHS = (BASELINE, "/api/v1/agents/me", "/api/v1/teg/balance")


async def run(*, full: bool) -> Figures:
    figures = Figures()
    if which("wrk") is None:
        figures.notes.append("wrk is not on the PATH: this bench needs it (Debian's package wrk)")
        figures.books_are_sound = False
        return figures
    async with temporary_directory() as directory:
        async with bench_runtime(directory) as runtime:
            dids = await seed_agents(runtime, 1_000_000 if full else 10_000)
            callers = await prepare_callers(runtime, dids[:PAYERS], directory)
        async with served(directory) as service:
            rates: dict[str, list[float]] = {path: [] for path in PATHS}
            p99s: dict[str, list[float]] = {path: [] for path in PATHS}
            for _ in range(ROUNDS):
                for path in PATHS:
                    rate, p99 = await _wrk(service.url, path, callers)
                    rates[path].append(rate)
                    p99s[path].append(p99)
    medians = {
        path: figures.add(f"GET {path}, {CONNECTIONS} connections", "/s", rates[path]) for path in PATHS
    }
    for path in PATHS[1:]:
        figures.add(f"p99 of {path}", "ms", p99s[path])
        figures.notes.append(f"{path}: {medians[path] / medians[BASELINE]:.2f} x {BASELINE}")
    return figures


async def _wrk(url: str, path: str, callers: Path) -> tuple[float, float]:
    process = await asyncio.create_subprocess_exec(
        "wrk", "-t2", f"-c{CONNECTIONS}", f"-d{SECONDS}s", "--latency",
        "-s", str(Path(__file__).parent / "reads.lua"), url, "--", str(callers), path,
        stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    output, _ = await process.communicate()
    found = re.search(r"ANSWERED (\d+) REFUSED (\d+) SECONDS ([0-9.]+) P99MS ([0-9.]+)", output.decode())
    assert found, output.decode()
    assert int(found[2]) == 0, output.decode()
    return int(found[1]) / float(found[3]), float(found[4])
