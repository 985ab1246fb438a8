"""http/overload: POST /teg/transfer with many times the connections of the peak, against the peak of the same run.

Beside each crowd come newcomers, who ask one thing on a connection of its own, as a health check does.
"""

import asyncio
import contextlib
import re
import resource
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter
from urllib.parse import urlsplit

from bench.figures import Figures
from bench.http_transfer import PAYERS, prepare_callers, served
from bench.seed import bench_runtime, seed_agents, sound_between, temporary_directory
from bench.wrk import is_missing

PEAK_CONNECTIONS = 64
CROWD_CONNECTIONS = (2_000, 10_000)
SECONDS = 8
PERIODIC_TASKS = 3
ACCOUNTS = 10_000
NEWCOMERS = 8
NEWCOMER_PAUSE_SECONDS = 0.05

_REPORT = re.compile(
    r"DONE (\d+) REFUSED (\d+) RUDE (\d+) OTHER (\d+) BROKEN (\d+) SECONDS ([0-9.]+) P99MS ([0-9.]+)"
)


@dataclass(frozen=True)
class Load:
    """Counts of the clients of one run; `rude` are refusals that do not say when to come back."""

    done: int
    refused: int
    rude: int
    other: int
    broken: int
    seconds: float
    p99_ms: float

    @property
    def per_second(self) -> float:
        return self.done / self.seconds

    @property
    def share_refused(self) -> float:
        return 100 * self.refused / max(1, self.done + self.refused + self.other)


async def run(*, full: bool) -> Figures:
    figures = Figures()
    if is_missing(figures):
        return figures
    allow_connections()
    async with temporary_directory() as directory:
        async with bench_runtime(directory) as runtime:
            dids = await seed_agents(runtime, ACCOUNTS)
            callers = await prepare_callers(runtime, dids[:PAYERS], directory)
        async with served(directory, TRUSTED_PROXIES="127.0.0.1") as service:
            loads = await _measure(service.url, callers, figures, seconds=4 * SECONDS if full else SECONDS)
        async with bench_runtime(directory) as runtime:
            acknowledged = sum(load.done for load in loads)
            # What was under way when the clients stopped may be written without having been acknowledged.
            under_way = PERIODIC_TASKS * (PEAK_CONNECTIONS + sum(CROWD_CONNECTIONS))
            figures.books_are_sound = all(load.rude == load.other == 0 for load in loads) and (
                await sound_between(runtime, acknowledged, acknowledged + under_way)
            )
    return figures


def allow_connections() -> None:
    """Raise the limit on open files, for the service and for its clients, as far as this account may."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


async def _measure(url: str, callers: Path, figures: Figures, *, seconds: int) -> list[Load]:
    runs: dict[int, list[Load]] = {connections: [] for connections in (PEAK_CONNECTIONS, *CROWD_CONNECTIONS)}
    waited: dict[int, list[float]] = {connections: [] for connections in runs}
    for number in range(PERIODIC_TASKS):
        for connections, loads in runs.items():
            async with _newcomers(url, waited[connections]):
                loads.append(await _wrk(url, callers, f"{connections}-{number}", connections, seconds))
    peak = median(load.per_second for load in runs[PEAK_CONNECTIONS])
    for connections, loads in runs.items():
        goodput = figures.add(
            f"transfers done, {connections:,} connections", "/s", [load.per_second for load in loads]
        )
        figures.add("  p99 of all answers", "ms", [load.p99_ms for load in loads])
        figures.add(
            "  GET /livez on a new connection meanwhile, p99",
            "ms",
            [1000 * quantiles(waited[connections], n=100)[-1]],
        )
        refused, broken = sum(load.refused for load in loads), sum(load.broken for load in loads)
        figures.notes.append(
            f"{connections:,} connections: {goodput / peak:.2f} of the peak,"
            f" {median(load.share_refused for load in loads):.1f} % refused for the moment"
            f" ({refused - sum(load.rude for load in loads)} of {refused} with Retry-After),"
            f" {sum(load.other for load in loads)} other answers, {broken} broken or timed out at the client"
        )
    return [load for loads in runs.values() for load in loads]


@contextlib.asynccontextmanager
async def _newcomers(url: str, waited: list[float]) -> AsyncIterator[None]:
    """Clients that connect anew for each request, and note how many seconds each took in all."""
    place = urlsplit(url)

    async def come_and_go() -> None:
        while True:
            started = perf_counter()
            reader, writer = await asyncio.open_connection(place.hostname, place.port)
            writer.write(b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            answer = await reader.read()
            writer.close()
            assert b" 200 " in answer.split(b"\r\n", 1)[0], answer
            waited.append(perf_counter() - started)
            await asyncio.sleep(NEWCOMER_PAUSE_SECONDS)

    async with asyncio.TaskGroup() as group:
        coming = [group.create_task(come_and_go()) for _ in range(NEWCOMERS)]
        yield
        for task in coming:
            task.cancel()


async def _wrk(url: str, callers: Path, name: str, connections: int, seconds: int) -> Load:
    process = await asyncio.create_subprocess_exec(
        "wrk", "-t2", f"-c{connections}", f"-d{seconds}s", "--timeout", "30s", "--latency",
        "-s", str(Path(__file__).parent / "overload.lua"), url, "--", str(callers), name,
        stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    output, _ = await process.communicate()
    found = _REPORT.search(output.decode())
    assert found, output.decode()
    done, refused, rude, other, broken = (int(count) for count in found.groups()[:5])
    return Load(done, refused, rude, other, broken, seconds=float(found[6]), p99_ms=float(found[7]))
