"""ledger/replay: a period of transfers is replayed by `hansa replay`; the baseline is the engine that wrote it, 100 orders to a transaction."""

import random
import time
from functools import partial

from bench.figures import Figures
from bench.seed import bench_runtime, seed_agents, temporary_directory
from hansa.doors.replay import ReplayRequest, replay
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.settings import Value
from hansa.foundation.values.money import UNIT, Minor
from hansa.rooms import ledger

ACCOUNTS = 1_000
TRANSFERS, TRANSFERS_FULL = 50_000, 1_000_000
AT_ONCE = 100
EVENTS_EACH = 3


async def run(*, full: bool) -> Figures:
    figures = Figures()
    transfers = TRANSFERS_FULL if full else TRANSFERS
    async with temporary_directory() as directory, bench_runtime(directory) as runtime:
        agents = await seed_agents(runtime, ACCOUNTS)
        first = 1 + await runtime.database.query(
            lambda tx: tx.fetchval("SELECT coalesce(max(seq), 0) FROM journal_event")
        )
        written = await _write(runtime, agents, transfers)
        events = EVENTS_EACH * transfers
        baseline = figures.add("written by the engine", "events/s", [events / written])
        played: tuple[tuple[str, dict[str, Value]], ...] = (
            ("the recorded rules", {}),
            ("another fee", {"fee_base_rate_percent": "0.3"}),
        )
        for name, changes in played:
            seconds = await _replayed(figures, runtime, ReplayRequest(first, None, changes))
            rate = figures.add(f"replayed with {name}", "events/s", [events / seconds])
            figures.notes.append(
                f"with {name}: {rate / baseline:.2f} x the rate of the engine, {seconds:.1f} s"
            )
    return figures


async def _write(runtime: Runtime, agents: list[str], transfers: int) -> float:
    chance, book = random.Random(7), ledger.Book.of(runtime.settings)
    started = time.perf_counter()
    for _ in range(0, transfers, AT_ONCE):
        pairs = [chance.sample(agents, 2) for _ in range(AT_ONCE)]
        orders = [
            ledger.orders.transfer(ledger.TransferOrder(payer, payee, Minor(UNIT // 100)))
            for payer, payee in pairs
        ]
        await runtime.database.transaction(partial(ledger.apply, orders=orders, book=book))
    return time.perf_counter() - started


async def _replayed(figures: Figures, runtime: Runtime, request: ReplayRequest) -> float:
    started = time.perf_counter()
    report = await replay(runtime.settings, request)
    seconds = time.perf_counter() - started
    figures.books_are_sound &= report.difference == 0 and not report.refused and not report.kept_fees
    return seconds
