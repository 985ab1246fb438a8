"""exchange/orders: orders at one and at four listings, at a fixed rate and as many as fit; transfers beside them; reads of a book over HTTP.

Of ten orders seven rest, two are cancelled and one is filled on arrival. Each is durable when it is answered.
"""

import asyncio
import os
import random
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from uuid import UUID, uuid4

from bench.figures import Figures, percentile
from bench.http_transfer import CONNECTIONS, prepare_callers, served
from bench.process_cpu import used_by
from bench.seed import bench_runtime, seed_agents, temporary_directory, use_log
from bench.wrk import drive, is_missing
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Agent
from hansa.foundation.values.money import UNIT, Minor
from hansa.rooms import auditor, exchange, ledger
from hansa.rooms.exchange.matching import Side
from hansa.rooms.exchange.trading.errors import OrderEnded
from hansa.rooms.exchange.trading.gathering import ACTS
from hansa.rooms.exchange.trading.judging import CancelOrder, PlaceOrder
from hansa.rooms.exchange.trading.records import NewOrder

LISTINGS = 4
RATES = {1: 700, LISTINGS: 1200}
"""Orders that begin each second, by the number of listings."""
SECONDS, SECONDS_IN_FULL = 2, 10
ROUNDS = 3
TRADERS, IN_FLIGHT, PAYERS = 64, 64, 64
POINTS, QTY = 10**6, 1
TICK = UNIT // 100
LEVELS = 50
"""Prices of each side, a tick from each other; the sells begin above the buys."""
CENTRE = 100
_LISTED = """
INSERT INTO exchange_listing (ref, organization_id, treasury_did, status, total, price, min_raise, opens_at, closes_at, per_owner_max,
  revenue_bps, term_months, tick, prospectus_url, prospectus_sha256, fee_bps, digest, approved_at, seq, sold, launched_at, ends_at, last_price)
SELECT $1, gen_random_uuid(), $2, 'TRADING', $3, $4, 0, at - interval '2 days', at - interval '1 day', $3,
  1000, 12, $4, 'https://bench.example/', sha256('bench'), 50, sha256('bench'), at, 1, $3, at, at + interval '12 months', $4
FROM clock_timestamp() at
"""
_HELD = "INSERT INTO exchange_holding (ref, agent_did, qty) SELECT $1, did, $3 FROM unnest($2::text[]) did"
_POSTED = """
INSERT INTO exchange_point_posting (ref, seq, agent_did, delta, cause)
SELECT $1, 1, did, $3::bigint, 'launch' FROM unnest($2::text[]) did UNION ALL SELECT $1, 1, '', -$3::bigint * cardinality($2::text[]), 'launch'
"""


class Floor:
    """Traders at some listings, and the orders that rest there."""

    def __init__(self, runtime: Runtime, refs: Sequence[str], traders: Sequence[Agent]) -> None:
        self._acts, self._refs, self._traders = ACTS.of(runtime), refs, traders
        self._random = random.Random(7)
        self._resting: dict[str, deque[tuple[Agent, UUID]]] = {ref: deque() for ref in refs}
        self._sent = 0

    @property
    def listings(self) -> int:
        """Number of listings."""
        return len(self._refs)

    async def command(self) -> None:
        """The next of the orders: seven rest, two are cancelled, one is filled on arrival."""
        number = self._sent
        self._sent += 1
        ref, kind = self._refs[number % len(self._refs)], number // len(self._refs) % 10
        side: Side = "buy" if self._random.random() < 0.5 else "sell"
        resting = self._resting[ref]
        if kind in {4, 8} and resting:
            await self._cancel(ref, *resting.popleft())
        elif kind == 9:
            # The price reaches every order of the other side.
            await self._place(ref, side, CENTRE + (LEVELS if side == "buy" else -LEVELS), is_taker=True)
        else:
            level = self._random.randint(1, LEVELS)
            resting.append(await self._place(ref, side, CENTRE + (level if side == "sell" else -level)))

    async def _place(self, ref: str, side: Side, ticks: int, *, is_taker: bool = False) -> tuple[Agent, UUID]:
        agent = self._random.choice(self._traders)
        new = NewOrder(
            uuid4(), ref, side, QTY, Minor(ticks * TICK), "ioc" if is_taker else "gtc", os.urandom(32)
        )
        await self._acts.carry_out(ref, PlaceOrder(agent, new), None)
        return agent, new.id

    async def _cancel(self, ref: str, agent: Agent, order_id: UUID) -> None:
        try:
            await self._acts.carry_out(ref, CancelOrder(agent.did, order_id), None)
        except OrderEnded:
            # It was filled meanwhile, which is an answer as well.
            return


async def run(*, full: bool) -> Figures:
    figures = Figures()
    if is_missing(figures):
        return figures
    seconds = SECONDS_IN_FULL if full else SECONDS
    async with temporary_directory() as directory:
        async with bench_runtime(directory, exchange_enabled=True) as runtime:
            dids = await seed_agents(runtime, TRADERS + PAYERS)
            callers = await prepare_callers(runtime, dids, directory)
            await use_log(runtime)
            traders = [Agent(did, n, (), frozenset(), is_governed=False) for n, did in enumerate(dids)]
            for count, rate in RATES.items():
                refs = await _list(runtime, count, dids)
                floor = Floor(runtime, refs, traders[:TRADERS])
                await _measure(figures, runtime, floor, rate, seconds)
            await _transfers_beside(figures, runtime, Floor(runtime, refs, traders[:TRADERS]), dids, seconds)
            gaps = await runtime.database.read(lambda tx: exchange.gaps(tx, is_whole=True, most=10))
            figures.faults.extend(gap for kind in gaps for gap in kind)
            figures.books_are_sound = (await runtime.database.read(auditor.audit_supply)).is_ok
        await _read_books(figures, directory, callers, refs[0], seconds)
    figures.notes.append(
        "targets: 1,200 orders/s over four listings and 700/s on one, p99 50 ms; 5,000 reads of a book/s; transfers keep 80 %"
    )
    return figures


async def _list(runtime: Runtime, count: int, dids: Sequence[str]) -> list[str]:
    """New listings that trade, of which each trader has points."""
    refs = [f"B{count}N{number}" for number in range(count)]

    async def listed(tx: Tx) -> None:
        for ref in refs:
            treasury = f"did:hansa:{runtime.settings.trust_domain}:treasury-{ref.lower()}"
            await tx.execute(_LISTED, ref, treasury, POINTS * TRADERS, TICK)
            await tx.execute(_HELD, ref, dids[:TRADERS], POINTS)
            await tx.execute(_POSTED, ref, dids[:TRADERS], POINTS)

    await runtime.database.transaction(listed)
    return refs


async def _measure(figures: Figures, runtime: Runtime, floor: Floor, rate: int, seconds: int) -> None:
    where = "one listing" if floor.listings == 1 else f"{floor.listings} listings"
    # The first orders make the book; then come its statistics, which autovacuum has within a minute, and by them the plans.
    await _flood(floor, rate)
    await runtime.database.query(lambda tx: tx.execute("ANALYZE"))
    before, sent, paced, fitting = used_by(os.getpid()), 0, [], []
    for _ in range(ROUNDS):
        paced.append(await _pace(floor.command, rate, rate * seconds))
        fitting.append(await _flood(floor, rate * seconds))
        sent += 2 * rate * seconds
    figures.add(f"orders at {where}, {rate:,} begun each second, p99", "ms", paced)
    figures.add(f"orders at {where}, {IN_FLIGHT} at a time", "/s", fitting)
    used = (used_by(os.getpid()) - before) * 1000 / sent
    figures.add("CPU of process and database for each", "ms", [used])


async def _pace(command: Callable[[], Awaitable[None]], rate: int, count: int) -> float:
    """The 99th percentile in milliseconds of orders that begin at the rate."""
    began = time.perf_counter()

    async def in_turn(number: int) -> float:
        await asyncio.sleep(max(0, began + number / rate - time.perf_counter()))
        start = time.perf_counter()
        await command()
        return (time.perf_counter() - start) * 1000

    return percentile(sorted(await asyncio.gather(*map(in_turn, range(count)))), 0.99)


async def _flood(floor: Floor, count: int) -> float:
    """Orders each second where so many are under way at every moment."""
    left = iter(range(count))

    async def work() -> None:
        for _ in left:
            await floor.command()

    began = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(IN_FLIGHT)))
    return count / (time.perf_counter() - began)


async def _transfers_beside(
    figures: Figures, runtime: Runtime, floor: Floor, dids: Sequence[str], seconds: int
) -> None:
    """Transfers of agents that do not trade, alone and beside orders at half of their rate."""
    rate, alone, beside = RATES[LISTINGS] // 2, [], []
    for _ in range(ROUNDS):
        alone.append(await _transfers(runtime, dids[TRADERS:], seconds))
        orders = asyncio.create_task(_pace(floor.command, rate, rate * seconds))
        beside.append(await _transfers(runtime, dids[TRADERS:], seconds))
        await orders
    first = figures.add(f"transfers, {PAYERS} at a time", "/s", alone)
    second = figures.add(f"transfers beside {rate} orders begun each second", "/s", beside)
    figures.notes.append(f"transfers beside orders keep {second / first:.0%}")


async def _transfers(runtime: Runtime, dids: Sequence[str], seconds: int) -> float:
    commit, done, ends = ledger.GROUP_COMMIT.of(runtime), 0, time.perf_counter() + seconds

    async def send(number: int) -> None:
        nonlocal done
        order = ledger.TransferOrder(dids[number], dids[number - 1], Minor(UNIT // 10_000))
        while time.perf_counter() < ends:
            await commit.transfer(order, None, lambda _: "")
            done += 1

    await asyncio.gather(*(send(number) for number in range(len(dids))))
    return done / seconds


async def _read_books(figures: Figures, directory: Path, callers: Path, ref: str, seconds: int) -> None:
    path = f"/api/v1/agora/listings/{ref}/book"
    # All readers have one address.
    async with served(directory, RATE_LIMIT_READS="off", LOG_LEVEL="warning") as service:
        driven = [
            await drive("reads.lua", service.url, callers, path, connections=CONNECTIONS, seconds=seconds)
            for _ in range(ROUNDS)
        ]
    figures.add(f"GET of a book, {CONNECTIONS} connections", "/s", [one.per_second for one in driven])
    figures.add("p99", "ms", [one.p99_ms for one in driven])
    refused = sum(one.refused for one in driven)
    if refused:
        figures.faults.append(f"{refused} reads of a book were refused")
