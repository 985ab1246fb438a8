"""catalogue/reads: one card by each of its names, and pages of 100 at any depth through `next`, from ten thousand cards on."""

import random
import time
from collections.abc import Awaitable, Callable
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from bench.card_seed import BETWEEN_CHANGES, NEWEST, card_of, did_of, load_cards
from bench.figures import Figures, percentile
from bench.seed import bench_runtime, temporary_directory
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.rooms.catalogue import Filters, PageRequest, list_cards, reading
from hansa.rooms.catalogue.findings import CardFindings
from hansa.rooms.catalogue.listing import conditions_of
from hansa.rooms.catalogue.listing_store import count_cards
from hansa.rooms.catalogue.pages import CardsPage

PAGE = 100
READS = 300
PAGES = 60
SIZES = (10_000, 30_000)
SIZES_FULL = (10_000, 100_000)
LISTS: dict[str, dict[str, Any]] = {
    "own cards": {},
    "with mirrors": {"include_federated": True},
    "tag": {"include_federated": True, "tags": ("weather",)},
    "search, a common word": {"include_federated": True, "search": "agents"},
    "search, a rare word": {"include_federated": True, "search": "storms for a place. neti"},
    "has_tee": {"has_tee": True},
    "foreign currency": {"include_federated": True, "foreign_only": True},
}
_SIZES = """
SELECT relname, pg_relation_size(oid) / 1048576.0 AS mib FROM pg_class
WHERE relname LIKE 'catalogue_card%' AND relkind IN ('r', 'i')
  OR oid = (SELECT reltoastrelid FROM pg_class WHERE relname = 'catalogue_card')
ORDER BY 2 DESC LIMIT 6
"""

Read = Callable[[Tx], Awaitable[Any]]


async def run(*, full: bool) -> Figures:
    figures = Figures()
    for size in SIZES_FULL if full else SIZES:
        async with temporary_directory() as directory:
            await _measure(directory, size, figures)
    figures.notes.append("targets: p99 of a card 8 ms, of a page through next 25 ms")
    figures.notes.append(
        "sound: cards are those asked for, no page repeats a card, totals are those of a plain count"
    )
    return figures


async def _measure(directory: Path, size: int, figures: Figures) -> None:
    async with bench_runtime(directory) as runtime:
        await load_cards(runtime.database.dsn, size)
        await measure_reads(runtime.database, size, figures)


async def measure_reads(database: Database, size: int, figures: Figures) -> None:
    """Measure cards by their names, pages of lists and of changes, and the sizes of the tables."""
    await _measure_cards(database, size, figures)
    for name, filters in LISTS.items():
        await _measure_list(database, f"{size:,} cards, {name}", Filters("AVT", **filters), figures)
    await _measure_changes(database, size, figures)
    tables = await database.query(lambda tx: tx.fetch(_SIZES))
    figures.notes.append(f"{size:,} cards, MiB: " + ", ".join(f"{name} {mib:.0f}" for name, mib in tables))


async def _measure_cards(database: Database, size: int, figures: Figures) -> None:
    lot = random.Random(size)
    reads: dict[str, Callable[[int], Read]] = {
        "DID": lambda number: lambda tx: reading.card_of(tx, did_of(number) or ""),
        "number": lambda number: lambda tx: reading.card_of(tx, str(number + 1)),
        "humanReadableId": lambda number: (
            lambda tx: reading.card_called(tx, card_of(number)["humanReadableId"])
        ),
    }
    for name, read_by in reads.items():
        numbers = [number for number in lot.choices(range(size), k=READS) if did_of(number) is not None]
        samples = []
        for number in numbers:
            milliseconds, card = await _timed(database, read_by(number))
            samples.append(milliseconds)
            figures.books_are_sound &= card.did == did_of(number)
        figures.add(f"{size:,} cards, a card by {name}: p99", "ms", [percentile(sorted(samples), 0.99)])


async def _measure_list(database: Database, name: str, filters: Filters, figures: Figures) -> None:
    """The first page, and the pages after it, taken up again at every depth there is."""
    findings = CardFindings()
    wanted = PageRequest(PAGE, 0, updated_since=None, next=None, with_data=True)
    first, page = await _timed(database, lambda tx: list_cards(tx, filters, wanted, findings))
    samples: list[float] = []
    seen = {card.card_id for card in page.cards}
    count = len(page.cards)
    while page.next and len(samples) < PAGES:
        following = replace(wanted, next=page.next)
        milliseconds, page = await _timed(
            database, partial(list_cards, filters=filters, page_request=following, findings=findings)
        )
        samples.append(milliseconds)
        seen |= {card.card_id for card in page.cards}
        count += len(page.cards)
    figures.add(f"{name}: first page, counted", "ms", [first])
    if samples:
        figures.add(f"{name}: p99 of {len(samples)} through next", "ms", [percentile(sorted(samples), 0.99)])
    figures.books_are_sound &= len(seen) == count and await _is_counted_right(database, filters)


async def _measure_changes(database: Database, size: int, figures: Figures) -> None:
    """A reader of changes who begins in the middle."""
    since: datetime = NEWEST + size // 2 * BETWEEN_CHANGES
    filters = Filters("AVT", include_federated=True)
    findings = CardFindings()
    wanted = PageRequest(PAGE, 0, updated_since=since, next=None, with_data=True)
    samples: list[float] = []
    page: CardsPage | None = None
    while page is None or (page.cards and len(samples) < PAGES):
        following = replace(wanted, next=page.next if page else None)
        milliseconds, page = await _timed(
            database, partial(list_cards, filters=filters, page_request=following, findings=findings)
        )
        samples.append(milliseconds)
    figures.add(f"{size:,} cards, changes: first page, counted", "ms", [samples[0]])
    figures.add(f"{size:,} cards, changes: p99 through next", "ms", [percentile(sorted(samples[1:]), 0.99)])


async def _is_counted_right(database: Database, filters: Filters) -> bool:
    conditions = conditions_of(filters)
    counted = await database.read(lambda tx: count_cards(tx, conditions))
    statement = f"SELECT count(*) FROM catalogue_card c WHERE {conditions.sql}"
    plain = await database.query(lambda tx: tx.fetchval(statement, *conditions.values, timeout=120))
    return counted == plain or not (conditions.are_all(counted) or conditions.are_all(plain))


async def _timed(database: Database, read: Read) -> tuple[float, Any]:
    begun = time.perf_counter()
    answer = await database.read(read)
    return 1000 * (time.perf_counter() - begun), answer
