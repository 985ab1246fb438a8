"""ledger/holds: holds, captures and releases of 64 callers in one process, against pgbench TPC-B-like in the same run."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from functools import partial

from bench.figures import Figures, percentile
from bench.seed import Pgbench, bench_runtime, seed_agents, temporary_directory, use_log, wal_bytes
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.values.money import UNIT, Minor
from hansa.rooms import ledger
from hansa.rooms.ledger import orders

CALLERS = 64
SECONDS, SECONDS_IN_FULL = 4, 30
PERIODIC_TASKS = 3
AMOUNT = Minor(UNIT // 100)

Kind = Callable[[], Awaitable[bool]]


async def run(*, full: bool) -> Figures:
    figures = Figures()
    async with temporary_directory() as directory, bench_runtime(directory) as runtime:
        dids = await seed_agents(runtime, 10_000)
        baseline = Pgbench(runtime.database.dsn)
        await baseline.prepare()
        await use_log(runtime)
        seconds = SECONDS_IN_FULL if full else SECONDS
        measured: dict[str, list[float]] = {"hold": [], "capture": [], "release": []}
        latencies: dict[str, list[float]] = {kind: [] for kind in measured}
        logged: dict[str, list[float]] = {kind: [] for kind in measured}
        theirs = []
        for _ in range(PERIODIC_TASKS):
            kinds = _kinds(runtime, dids)
            # Captures and releases end holds that were opened for them before: each measures one order, not two.
            for kind in ("hold", "capture", "hold", "release"):
                before = await wal_bytes(runtime)
                elapsed, took = await _storm(kinds[kind], seconds)
                logged[kind].append((await wal_bytes(runtime) - before) / len(took))
                measured[kind].append(len(took) / elapsed)
                latencies[kind].append(percentile(took, 0.99) * 1000)
            theirs.append(await baseline.per_second(seconds))
        base = figures.add("pgbench TPC-B-like, 64 clients", "/s", theirs)
        for kind, rates in measured.items():
            ours = figures.add(f"{kind}s, {CALLERS} callers", "/s", rates)
            figures.add(f"p99 of {kind}s", "ms", latencies[kind])
            figures.add(f"WAL of a {kind}", "bytes", logged[kind])
            figures.notes.append(f"{kind}s: {ours / base:.2f} x pgbench")
        figures.books_are_sound &= await _is_sound(runtime)
    return figures


def _kinds(runtime: Runtime, dids: list[str]) -> dict[str, Kind]:
    """Return the call of each kind, which returns whether it did its act: a capture or a release needs a hold that was opened before."""
    group = ledger.GroupCommit(runtime.database, ledger.Book.of(runtime.settings))
    opened: list[int] = []

    async def hold() -> bool:
        payer, payee = random.sample(dids, 2)
        order = orders.hold(payer, AMOUNT, ledger.NewHold("bench", payer[-36:], payee))
        opened.append(int((await group.submit([order], None, lambda made: str(made[0].hold_id))).text))
        return True

    async def end(order: Callable[[int], ledger.Order]) -> bool:
        if not opened:
            return False
        await group.submit([order(opened.pop())], None, lambda made: str(made[0].tx_id))
        return True

    return {
        "hold": hold,
        "capture": partial(end, lambda hold_id: orders.capture(hold_id, AMOUNT, final=True)),
        "release": partial(end, orders.release),
    }


async def _storm(work: Kind, seconds: float) -> tuple[float, list[float]]:
    """The seconds that it took, at most `seconds`, and the time of each call, sorted."""
    took: list[float] = []
    began = time.perf_counter()

    async def call() -> None:
        while (started := time.perf_counter()) < began + seconds and await work():
            took.append(time.perf_counter() - started)

    await asyncio.gather(*(call() for _ in range(CALLERS)))
    return time.perf_counter() - began, sorted(took)


async def _is_sound(runtime: Runtime) -> bool:
    gaps = await runtime.database.read(ledger.escrow_gaps)
    summed = await runtime.database.read(
        lambda tx: tx.fetchval(
            "SELECT sum(delta) FROM ledger_posting p JOIN ledger_transaction t ON t.id = p.tx_id"
            " WHERE t.tx_type IN ('hold', 'capture', 'release')"
        )
    )
    return not gaps and not summed
