"""http/search-flood: POST /teg/transfer beside many times more searches than the service takes, against transfers alone.

Both are measured in the same run, in turn. The searches keep their connections busy all the time: a refused search is sent
again at once.
"""

import asyncio
from pathlib import Path
from statistics import median

from bench.card_seed import load_cards
from bench.catalogue_search import mixed_searches
from bench.figures import Figures
from bench.http_overload import allow_connections
from bench.http_transfer import CONNECTIONS, PAYERS, prepare_callers, served
from bench.seed import bench_runtime, seed_agents, sound_between, temporary_directory
from bench.wrk import drive, is_missing

# Where a hundred connections drive search to its capacity.
FLOOD_CONNECTIONS = 1000
SECONDS = 6
SECONDS_FULL = 60
PERIODIC_TASKS = 3
ACCOUNTS = 10_000
CARDS = 10_000
P99_RATIO_MAX = 1.5


async def run(*, full: bool) -> Figures:
    figures = Figures()
    if is_missing(figures):
        return figures
    allow_connections()
    async with temporary_directory() as directory:
        async with bench_runtime(directory) as runtime:
            await load_cards(runtime.database.dsn, CARDS)
            dids = await seed_agents(runtime, ACCOUNTS)
            callers = await prepare_callers(runtime, dids[:PAYERS], directory)
        searches = mixed_searches(directory, CARDS)
        async with served(
            directory, TRUSTED_PROXIES="127.0.0.1", RATE_LIMIT_READS="off", LOG_LEVEL="error"
        ) as service:
            least, most = await _measure(
                service.url, callers, searches, figures, SECONDS_FULL if full else SECONDS
            )
        async with bench_runtime(directory) as runtime:
            figures.books_are_sound = await sound_between(runtime, least, most)
    return figures


async def _measure(
    url: str, callers: Path, searches: Path, figures: Figures, seconds: int
) -> tuple[int, int]:
    """How many transfers were carried out, at least and at most."""
    least, most = 0, 0

    async def transfers(name: str) -> tuple[float, float]:
        nonlocal least, most
        driven = await drive("transfer.lua", url, callers, name, connections=CONNECTIONS, seconds=seconds)
        least += driven.answered - driven.refused
        most += driven.answered + CONNECTIONS
        return driven.per_second, driven.p99_ms

    rates: dict[str, list[float]] = {"alone": [], "beside the flood": []}
    p99s: dict[str, list[float]] = {"alone": [], "beside the flood": []}
    found = []
    await transfers("warm")
    for number in range(PERIODIC_TASKS):
        alone = await transfers(f"alone{number}")
        flood = asyncio.create_task(
            drive("search.lua", url, searches, connections=FLOOD_CONNECTIONS, seconds=seconds + 2, threads=1)
        )
        await asyncio.sleep(1)
        beside = await transfers(f"beside{number}")
        flooded = await flood
        found.append((flooded.answered - flooded.refused) / flooded.seconds)
        for name, (rate, p99) in (("alone", alone), ("beside the flood", beside)):
            rates[name].append(rate)
            p99s[name].append(p99)
    for name, rate_of_each in rates.items():
        figures.add(f"transfers {name}", "/s", rate_of_each)
        figures.add("  p99", "ms", p99s[name])
    figures.add("searches answered meanwhile", "/s", found)
    ratio = median(p99s["beside the flood"]) / median(p99s["alone"])
    figures.notes.append(
        f"p99 of transfers beside {FLOOD_CONNECTIONS:,} connections that search: {ratio:.2f} of that alone,"
        f" bound {P99_RATIO_MAX}"
    )
    return least, most
