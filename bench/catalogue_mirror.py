"""catalogue/mirror: pages of 10,000 cards of a peer, as they come for the first time, again, and changed."""

import time
from pathlib import Path
from typing import Any

from bench.card_seed import card_of, load_cards
from bench.figures import Figures
from bench.seed import bench_runtime, temporary_directory
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.rooms.catalogue import MirrorResult, mirror_cards
from hansa.rooms.catalogue.maintenance import TEXTS_AT_ONCE, index_texts, keep_lists_quick

PEER = "bench.example.org"
PAGE = 10_000
PAGE_SMALL = 2_000
TARGET_SECONDS = 2


async def run(*, full: bool) -> Figures:
    figures = Figures()
    size = PAGE if full else PAGE_SMALL
    for present in (0, 100_000) if full else (0, 5_000):
        async with temporary_directory() as directory:
            await _measure(directory, present, size, figures)
    figures.notes.append(f"target: {PAGE:,} cards in {TARGET_SECONDS} s")
    figures.notes.append(
        "sound: every page reports to have written what was to be written, and the table shows the same"
    )
    return figures


async def _measure(directory: Path, present: int, size: int, figures: Figures) -> None:
    async with bench_runtime(directory) as runtime:
        if present:
            await load_cards(runtime.database.dsn, present)
        await measure_pages(runtime, present, size, figures)


async def measure_pages(runtime: Runtime, present: int, size: int, figures: Figures) -> None:
    """A page of `size` cards, applied four times, beside `present` cards."""
    pages = {
        "new": ([_item(number, 1) for number in range(size)], MirrorResult(written=size)),
        "the same again": ([_item(number, 1) for number in range(size)], MirrorResult(unchanged=size)),
        "changed": ([_item(number, 2, "Now ") for number in range(size)], MirrorResult(written=size)),
        "hidden": ([_tombstone(number) for number in range(size)], MirrorResult(hidden=size)),
    }
    for name, (items, expected) in pages.items():
        begun = time.perf_counter()
        result = await _apply(runtime, items)
        seconds = time.perf_counter() - begun
        figures.add(f"a page of {size:,}, {name}, beside {present:,}", "s", [seconds])
        figures.books_are_sound &= result == expected
    begun = time.perf_counter()
    for _ in range(0, size, TEXTS_AT_ONCE):
        await runtime.database.transaction(index_texts)
    await runtime.database.transaction(keep_lists_quick)
    figures.add("the sweeps that index their texts", "s", [time.perf_counter() - begun])
    shown = await runtime.database.query(
        lambda tx: tx.fetchval(
            "SELECT count(*) FROM catalogue_card WHERE source_registry = $1 AND peer_version = 3 AND unlisted",
            PEER,
        )
    )
    figures.books_are_sound &= shown == size


async def _apply(runtime: Runtime, items: list[dict[str, Any]]) -> MirrorResult:
    return await runtime.database.transaction(
        lambda tx: mirror_cards(
            tx, source_registry=PEER, trust_domain=PEER, settlement_currency="BEN", items=items
        )
    )


def _item(number: int, version: int, prefix: str = "") -> dict[str, Any]:
    card = card_of(number)
    return {
        **_named(number, version),
        "card_data": {**card, "description": prefix + card["description"]},
    }


def _tombstone(number: int) -> dict[str, Any]:
    return {**_named(number, 3), "listing": {"unlisted": True}}


def _named(number: int, version: int) -> dict[str, Any]:
    return {"did": f"did:hansa:{PEER}:{number:032x}", "version": version}
