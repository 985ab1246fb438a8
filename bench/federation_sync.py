"""federation/sync: all cards of one registry as a peer reads them: pages served and signed, judged, and applied as mirrors.

The network between the two is left out; a page is handed over as the bytes that were served.
"""

import asyncio
import time
from pathlib import Path

from bench.card_seed import OWN_HOME, load_cards
from bench.figures import Figures
from bench.seed import bench_runtime, temporary_directory
from hansa.foundation.plumbing.runtime import Runtime
from hansa.rooms import federation
from hansa.rooms.catalogue import mirror_cards
from hansa.rooms.catalogue.exports import serving
from hansa.rooms.catalogue.peer_reading.judging import judge_page, origin_of
from hansa.rooms.catalogue.peer_reading.records import JudgedPage, Origin
from hansa_verify import encoded

CARDS, CARDS_SMALL = 100_000, 5_000
PAGE = 10_000
LEDGER_ID = OWN_HOME[1]
TARGET_SECONDS = 60


async def run(*, full: bool) -> Figures:
    figures = Figures()
    # Of ten cards that are loaded six are own ones, and nine of ten of these have a DID.
    loaded = (CARDS if full else CARDS_SMALL) * 2
    async with temporary_directory() as home, temporary_directory() as away:
        await _measure(home, away, loaded, figures)
    figures.notes.append(f"target: {CARDS:,} cards in {TARGET_SECONDS} s")
    figures.notes.append("sound: as many mirrors as exported cards, and nothing refused")
    return figures


async def _measure(home: Path, away: Path, loaded: int, figures: Figures) -> None:
    async with bench_runtime(home) as source, bench_runtime(away) as reader:
        await load_cards(source.database.dsn, loaded)
        origin = await _origin(source)
        served, judged, applied = [], [], []
        place: str | None = None
        count, more = 0, True
        while more:
            begun = time.perf_counter()
            body = await serving.cards_page(source, place, PAGE, "")
            served.append(time.perf_counter() - begun)
            begun = time.perf_counter()
            page = await asyncio.to_thread(judge_page, body, PAGE, origin)
            judged.append(time.perf_counter() - begun)
            begun = time.perf_counter()
            figures.books_are_sound &= await _apply(reader, page) and not page.refused
            applied.append(time.perf_counter() - begun)
            place, more, count = page.next, page.more, count + page.size
        for what, seconds in (("served", served), ("judged", judged), ("applied", applied)):
            figures.add(f"{count:,} cards {what}", "s", [sum(seconds)])
        figures.add(f"{count:,} cards in all", "s", [sum(served) + sum(judged) + sum(applied)])


async def _origin(source: Runtime) -> Origin:
    keys = await source.database.look(federation.all_keys)
    key = await federation.Signatory(source.database, source.seal).present_key()
    (present,) = [known for known in keys if known.kid == key.kid]
    jwk = {"kid": present.kid, "kty": "OKP", "crv": "Ed25519", "x": encoded(present.public_key)}
    return origin_of(LEDGER_ID, LEDGER_ID, {"keys": [jwk]})


async def _apply(reader: Runtime, page: JudgedPage) -> bool:
    """Whether every item with a card became a mirror."""
    result = await reader.database.act(
        lambda tx: mirror_cards(
            tx, source_registry=LEDGER_ID, trust_domain=LEDGER_ID, settlement_currency="BEN", items=page.items
        )
    )
    expected = sum(item["card_data"] is not None for item in page.items)
    return result.written == expected and not set(result.skipped) - {"card_unknown"}
