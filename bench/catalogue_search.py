"""catalogue/search: finding among many cards, building the index, and how soon a changed card is found.

- A selective query names a trade and a manner, a broad one a single common word, a very broad one a word that nearly
  every card holds; each is asked with a tag, a price or an order of its own, so that nothing was remembered.
- Everything is the catalogue without a query, after a change: its counts are made anew.
- The baseline of the run is the count of the same broad word by PostgreSQL's own LIKE.
"""

import asyncio
import itertools
import json
import random
from functools import partial
from pathlib import Path
from time import perf_counter
from urllib.parse import urlencode

import psutil

from bench.card_seed import LANGUAGES, MANNERS, TRADES, load_cards
from bench.figures import Figures, percentile
from bench.http_transfer import served
from bench.seed import bench_runtime, temporary_directory
from bench.wrk import drive, is_missing
from hansa.foundation.plumbing.jobs import run_jobs
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms.catalogue import Searcher, SearchQuery, discover
from hansa.rooms.catalogue.search import CARDS_CHANGED
from hansa.rooms.catalogue.search.writes import IndexedWrites

SECONDS = 5
CONNECTIONS = 100
SAMPLES = 200
EVERYTHING_SAMPLES = 20
CHANGES = 20
LONG_AGO = 10**9
SORTS = ("relevance", "newest", "proven", "price_low")
COMMON_WORDS = (
    "finance",
    "legal",
    "documents",
    "planning",
    "audio",
    "swift",
    "careful",
    "quiet",
    "planner",
    "watcher",
)

_TOUCH = "UPDATE catalogue_card SET name = $2, name_text = lower($2) WHERE id = $1"
_BASELINE = """
SELECT count(*), count(*) FILTER (WHERE source_registry IS NULL) FROM catalogue_card
WHERE is_active AND NOT unlisted AND status = 'active' AND description_text LIKE '%finance%'
"""


async def run(*, full: bool) -> Figures:
    figures = Figures()
    for count in (10_000, 100_000) if full else (10_000,):
        async with temporary_directory() as directory:
            async with bench_runtime(directory) as runtime:
                await load_cards(runtime.database.dsn, count)
                await measure_search(runtime, figures, count)
            await measure_served_search(directory, figures, count)
    return figures


def promote(place: Path) -> None:
    """Let the index be that of the timeline before a failover, whose last changes are long ago."""
    written = json.loads(place.read_text())
    place.write_text(json.dumps(written | {"timeline": 0, "cursor": written["cursor"] + LONG_AGO}))


async def measure_search(runtime: Runtime, figures: Figures, count: int) -> None:
    before = psutil.Process().memory_info().rss
    home = runtime.settings.data_dir / "search"
    searcher = Searcher(runtime.database, home, runtime.settings.settlement_currency)
    began = perf_counter()
    await searcher.catch_up()
    figures.add(f"{count:,} cards: build the index", "s", [perf_counter() - began])
    figures.add("  memory that it added", "MB", [(psutil.Process().memory_info().rss - before) / 1e6])
    figures.add(
        "  index on disk",
        "MB",
        [sum(file.stat().st_size for file in home.rglob("*") if file.is_file()) / 1e6],
    )
    await searcher.close()
    promote(home / "0" / "place.json")
    searcher = Searcher(runtime.database, home, runtime.settings.settlement_currency)
    began = perf_counter()
    await searcher.catch_up()
    figures.add("  start after a failover: compare", "s", [perf_counter() - began])
    await asyncio.sleep(2)
    for kind, queries in _kinds(random.Random(count)).items():
        times = sorted([await _time(runtime, searcher, search_query) for search_query in queries])
        figures.add(f"  {kind}, median", "ms", [percentile(times, 0.5)])
        figures.add(f"  {kind}, p99", "ms", [percentile(times, 0.99)])
    everything, fresh = [], []
    for number in range(EVERYTHING_SAMPLES):
        fresh.append(await _time_of_change(runtime, searcher, number))
        everything.append(await _time(runtime, searcher, SearchQuery()))
    figures.add("  everything, after a change, median", "ms", [percentile(sorted(everything), 0.5)])
    figures.add("  everything, after a change, worst", "ms", [max(everything)])
    figures.add("  a change is indexed, worst", "ms", [max(fresh)])
    began = perf_counter()
    await runtime.database.query(lambda tx: tx.fetchrow(_BASELINE, timeout=120))
    noticed = await _times_of_notified_changes(runtime, searcher)
    figures.add(
        "  a written card is found by another process, median", "ms", [percentile(sorted(noticed), 0.5)]
    )
    figures.add("  a written card is found by another process, worst", "ms", [max(noticed)])
    figures.add("  LIKE and two counts by PostgreSQL", "ms", [(perf_counter() - began) * 1000])
    began = perf_counter()
    await searcher.close()
    again = Searcher(runtime.database, home, runtime.settings.settlement_currency)
    await again.catch_up()
    figures.add("  open the index again", "s", [perf_counter() - began])
    await again.close()


def _kinds(lot: random.Random) -> dict[str, list[SearchQuery]]:
    selective = [
        SearchQuery(q=f"{manner} {role} {language}")
        for manner, (role, _, _), language in itertools.product(MANNERS, TRADES.values(), LANGUAGES)
    ]
    variations = list(itertools.product(SORTS, ("free", "paid", None), (0, 30, 60, 90)))
    broad = [
        SearchQuery(q=word, sort=sort, pricing=pricing, offset=offset)  # type: ignore[arg-type]
        for word, (sort, pricing, offset) in itertools.product(COMMON_WORDS, variations)
    ]
    very_broad = [
        SearchQuery(q="people", sort=sort, pricing=pricing, offset=offset)  # type: ignore[arg-type]
        for sort, pricing, offset in variations
    ]
    return {
        "selective": lot.sample(selective, SAMPLES),
        "broad": lot.sample(broad, SAMPLES),
        "very broad": very_broad,
    }


async def _time(runtime: Runtime, searcher: Searcher, search_query: SearchQuery) -> float:
    began = perf_counter()
    await discover(searcher, runtime.database, search_query)
    return (perf_counter() - began) * 1000


async def _time_of_change(runtime: Runtime, searcher: Searcher, number: int) -> float:
    """From the commit until the index has it, when it is asked at once."""
    name = f"Changed{number} {random.randrange(10**9)}"
    card = await runtime.database.query(
        lambda tx: tx.fetchval(
            "SELECT id FROM catalogue_card WHERE is_active AND NOT unlisted AND status = 'active' OFFSET $1 LIMIT 1",
            number,
        )
    )
    await runtime.database.transaction(partial(_rename, card=card, name=name))
    began = perf_counter()
    await searcher.catch_up()
    took = (perf_counter() - began) * 1000
    found = await discover(searcher, runtime.database, SearchQuery(q=name))
    assert [card.name for card in found.results][:1] == [name], found
    return took


async def _times_of_notified_changes(runtime: Runtime, searcher: Searcher) -> list[float]:
    """From the commit of a process until a search of another finds it, each after a second in which nothing changed."""
    writes, times = IndexedWrites(runtime.database, searcher), []
    directory = runtime.settings.data_dir / "another-search"
    other = Searcher(runtime.database, directory, runtime.settings.settlement_currency)
    card = await runtime.database.query(lambda tx: tx.fetchval("SELECT min(id) FROM catalogue_card"))
    async with other.following():
        await other.catch_up()
        listening = asyncio.create_task(run_jobs(runtime, (), {CARDS_CHANGED: lambda _: other.look_now()}))
        for number in range(CHANGES):
            await asyncio.sleep(1)
            name = f"Noticed{number} {random.randrange(10**9)}"
            await writes.transaction(partial(_rename, card=card, name=name))
            began = perf_counter()
            while not (await other.hits(SearchQuery(q=name))).total:  # noqa: ASYNC110
                await asyncio.sleep(0.002)
            times.append((perf_counter() - began) * 1000)
        listening.cancel()
        await asyncio.wait([listening])
    return times


async def measure_served_search(directory: Path, figures: Figures, count: int) -> None:
    """The same over HTTP: a mixed set of queries, most of them selective, many asked more than once."""
    if is_missing(figures):
        return
    paths = mixed_searches(directory, count)
    async with served(directory, RATE_LIMIT_READS="off", LOG_LEVEL="warning") as service:
        await asyncio.sleep(3)
        for _ in range(2):
            driven = await drive(
                "search.lua", service.url, paths, connections=CONNECTIONS, seconds=SECONDS, threads=1
            )
        figures.books_are_sound &= driven.refused == 0
        figures.add(f"  GET, {CONNECTIONS} connections, mixed queries", "/s", [driven.per_second])
        figures.add("  p99 of these", "ms", [driven.p99_ms])
        figures.add("  memory of the process", "MB", [psutil.Process(service.pid).memory_info().rss / 1e6])


def mixed_searches(directory: Path, count: int) -> Path:
    """A file of searches, one path a line, for so many cards."""
    paths = directory / "paths"
    kinds = _kinds(random.Random(count))
    mixed = [*kinds["selective"] * 3, *kinds["broad"][:60], *kinds["very broad"][:4], *[SearchQuery()] * 20]
    paths.write_text("".join(f"{_path(search_query)}\n" for search_query in mixed))
    return paths


def _path(search_query: SearchQuery) -> str:
    query = {
        "q": search_query.q,
        "sort": search_query.sort,
        "offset": search_query.offset,
        "pricing": search_query.pricing,
    }
    return "/api/v1/agent-cards/discover?" + urlencode(
        {name: value for name, value in query.items() if value}
    )


async def _rename(tx: Tx, card: int, name: str) -> None:
    await tx.execute(_TOUCH, card, name)
