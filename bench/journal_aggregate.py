"""journal/aggregate: the events of one DID in a long log, one page with its total, of an agent and of the treasury."""

import time

from bench.figures import Figures
from bench.seed import bench_runtime, grow_history, seed_agents, temporary_directory
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.rooms.journal import LEDGER_READINGS, SortOrder, participants

ACCOUNTS = 1000
TRANSFERS = 200_000
TRANSFERS_FULL = 5_000_000
PAGE = 100
PERIODIC_TASKS = 9
SORT_ORDERS: tuple[SortOrder, ...] = ("asc", "desc")


async def run(*, full: bool) -> Figures:
    figures = Figures()
    transfers = TRANSFERS_FULL if full else TRANSFERS
    async with temporary_directory() as directory, bench_runtime(directory) as runtime:
        agents = await seed_agents(runtime, ACCOUNTS)
        await grow_history(runtime, transfers, ACCOUNTS)
        each = 2 * transfers // ACCOUNTS
        figures.notes.append(f"{2 * transfers:,} events of transfers, {each:,} transactions for each agent")
        for who, did in (("an agent", agents[1]), ("the treasury", "did:hansa:system:treasury")):
            for sort_order in SORT_ORDERS:
                samples = [await _milliseconds(runtime, did, sort_order) for _ in range(PERIODIC_TASKS)]
                figures.add(f"{PAGE} events of {who}, {sort_order}, with the total", "ms", samples)
    return figures


async def _milliseconds(runtime: Runtime, did: str, sort_order: SortOrder) -> float:
    frame, readings = runtime.settings.trust_domain, LEDGER_READINGS.of(runtime)
    wanted = participants.ParticipantFilter(did, frame, limit=PAGE, sort_order=sort_order)
    started = time.perf_counter()
    page = await runtime.database.read(lambda tx: participants.events_by_participant(tx, wanted, readings))
    await runtime.database.read(lambda tx: participants.count_by_participant(tx, did, frame, readings))
    assert len(page.events) == PAGE
    return 1000 * (time.perf_counter() - started)
