"""federation/sync: all cards of one registry as a peer reads them, from one `hansa serve` to another over mutual TLS.

The peer reads by `hansa peer sync`, whose start is part of the time. The other figures are the processor time per card of each side.
"""

import json
import resource
from contextlib import AsyncExitStack
from time import perf_counter

from bench.card_seed import OWN_HOME, load_cards
from bench.federation_crossings import End, beside, command, join, prepared, serving
from bench.figures import Figures
from bench.http_transfer import PAYERS
from bench.process_cpu import used_alone, used_by
from bench.seed import temporary_directory

CARDS, CARDS_SMALL = 100_000, 5_000
LEDGER_ID = OWN_HOME[1]
TARGET_SECONDS = 60
EXPORTED = """
SELECT count(*) FROM catalogue_card WHERE source_registry IS NULL AND did IS NOT NULL AND is_active AND NOT unlisted
  AND status <> 'revoked'
"""
MIRRORED = "SELECT count(*) FROM catalogue_card WHERE source_registry = $1"
# The job of the service reads nothing meanwhile: the command alone does.
SELDOM = {"FEDERATION_SYNC_INTERVAL_SECONDS": "604800"}


async def run(*, full: bool) -> Figures:
    figures = Figures()
    # Of ten numbers six are own cards, and of these nearly all are exported.
    numbers = (CARDS if full else CARDS_SMALL) * 7 // 4
    async with AsyncExitStack() as stack:
        homes = [await stack.enter_async_context(temporary_directory()) for _ in range(2)]
        home, reader = await prepared(homes, PAYERS + 1, {"TRUST_DOMAIN": LEDGER_ID, **SELDOM}, SELDOM)
        pids = [(await stack.enter_async_context(serving(end))).pid for end in (home, reader)]
        await join(home, reader)
        async with beside(home) as runtime:
            await load_cards(runtime.database.dsn, numbers, own_alone=True)
        await _measure(home, reader, pids, figures)
    figures.notes.append(f"target: {CARDS:,} cards in {TARGET_SECONDS} s")
    figures.notes.append("sound: as many mirrors as exported cards, and nothing refused")
    return figures


async def _measure(home: End, reader: End, pids: list[int], figures: Figures) -> None:
    databases = [used_by(pid) - used_alone(pid) for pid in pids]
    service, children = used_alone(pids[0]), _used_by_commands()
    begun = perf_counter()
    outcome = json.loads(await command(reader, "peer", "sync", home.settings["REGISTRY_NAME"], "--json"))
    seconds = perf_counter() - begun
    spent = {
        "the service that serves": used_alone(pids[0]) - service,
        "the command that reads": _used_by_commands() - children,
        "the database that is read": used_by(pids[0]) - used_alone(pids[0]) - databases[0],
        "the database that is written": used_by(pids[1]) - used_alone(pids[1]) - databases[1],
    }
    count = outcome["changed"]
    figures.add(f"{count:,} cards", "s", [seconds])
    figures.add(f"{CARDS:,} cards at this rate", "s", [seconds / count * CARDS])
    for what, used in spent.items():
        figures.add(f"CPU of {what}", "us/card", [used / count * 1e6])
    async with beside(home) as runtime:
        exported = await runtime.database.query(lambda tx: tx.fetchval(EXPORTED))
    async with beside(reader) as runtime:
        mirrored = await runtime.database.query(lambda tx: tx.fetchval(MIRRORED, LEDGER_ID))
    figures.books_are_sound = exported == mirrored == count and not outcome["refused"]


def _used_by_commands() -> float:
    """CPU seconds of the children of this process that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
