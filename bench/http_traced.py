"""http/traced: POST /teg/transfer with traces exported and without, in turn; one request in a hundred is sampled, as by default."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median

from aiohttp import web

from bench.figures import Figures
from bench.http_transfer import CONNECTIONS, PAYERS, beside, prepare_callers, served
from bench.process_cpu import used_alone
from bench.seed import bench_runtime, seed_agents, sound_between, temporary_directory, use_log
from bench.wrk import drive, is_missing

ACCOUNTS = 10_000
SECONDS = 4
PAIRS, PAIRS_FULL = 6, 20


async def run(*, full: bool) -> Figures:
    """Figures of pairs of services on one database, the first of a pair without traces."""
    figures = Figures()
    if is_missing(figures):
        return figures
    rates: dict[bool, list[float]] = {False: [], True: []}
    costs: dict[bool, list[float]] = {False: [], True: []}
    acknowledged = 0
    pairs = PAIRS_FULL if full else PAIRS
    async with temporary_directory() as directory, _collector() as (url, exports):
        async with bench_runtime(directory) as runtime:
            dids = await seed_agents(runtime, ACCOUNTS)
            callers = await prepare_callers(runtime, dids[:PAYERS], directory)
            await use_log(runtime)
        for number in range(2 * pairs):
            is_traced = number % 2 == 1
            settings = {"OTEL_EXPORTER_OTLP_ENDPOINT": url} if is_traced else {}
            done, cost = await _measure(directory, callers, number, settings)
            rates[is_traced].append(done / SECONDS)
            costs[is_traced].append(cost)
            acknowledged += done
        async with bench_runtime(directory) as runtime:
            figures.books_are_sound &= await sound_between(
                runtime, acknowledged, acknowledged + 4 * CONNECTIONS * pairs
            )
    for is_traced, name in ((False, "without traces"), (True, "with traces")):
        figures.add(f"POST /teg/transfer, {name}", "/s", rates[is_traced])
        figures.add(f"processor time of the service, {name}", "us", costs[is_traced])
    ratios = [on / off for off, on in zip(rates[False], rates[True], strict=True)]
    figures.add("rate with traces, of that without, in pairs", "x", ratios)
    figures.notes.append(f"{exports[0]} exports received; processor time with traces {_ratio(costs):.3f} x")
    if not exports[0]:
        figures.faults.append("the collector received nothing")
    return figures


async def _measure(
    directory: Path, callers: Path, number: int, settings: dict[str, str]
) -> tuple[int, float]:
    """Return the acknowledged transfers of one run, and the microseconds of processor time that each took in the service."""
    async with served(directory, 1, **settings) as service, beside(directory):
        before = used_alone(service.pid)
        driven = await drive(
            "transfer.lua", service.url, callers, f"{number}", connections=CONNECTIONS, seconds=SECONDS
        )
        used = used_alone(service.pid) - before
    assert driven.refused == 0
    return driven.answered, used / driven.answered * 1e6


def _ratio(costs: dict[bool, list[float]]) -> float:
    return median(costs[True]) / median(costs[False])


@asynccontextmanager
async def _collector() -> AsyncIterator[tuple[str, list[int]]]:
    """The address of a receiver of OTLP over HTTP in this process, and the number of its exports."""
    exports = [0]

    async def receive(request: web.Request) -> web.Response:
        await request.read()
        exports[0] += 1
        return web.Response(body=b"", content_type="application/x-protobuf")

    app = web.Application(client_max_size=2**26)
    app.router.add_post("/v1/traces", receive)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}", exports
    finally:
        await runner.cleanup()
