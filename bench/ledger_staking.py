"""ledger/staking: stake and release one position per act, 16 callers, against pgbench with 16 clients in the same run."""

import asyncio
import random
import time

from bench.figures import Figures
from bench.seed import Pgbench, bench_runtime, seed_agents, temporary_directory
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.values.money import UNIT, Minor
from hansa.rooms import auditor, ledger
from hansa.rooms.ledger import staking

CALLERS = 16
SECONDS = 5
PERIODIC_TASKS = 3


async def run(*, full: bool) -> Figures:
    figures = Figures()
    async with temporary_directory() as directory, bench_runtime(directory) as runtime:
        dids = await seed_agents(runtime, 100_000 if full else 1_000)
        baseline = Pgbench(runtime.database.dsn)
        await baseline.prepare()
        ours, theirs = [], []
        for _ in range(PERIODIC_TASKS):
            ours.append(await _storm(runtime, dids) / SECONDS)
            theirs.append(await baseline.per_second(SECONDS, clients=CALLERS))
        median_ours = figures.add(f"stake + unstake, {CALLERS} callers, acts", "/s", ours)
        median_theirs = figures.add(f"pgbench TPC-B-like, {CALLERS} clients", "/s", theirs)
        figures.notes.append(f"ratio {median_ours / median_theirs:.2f} x pgbench")
        figures.books_are_sound = (await runtime.database.read(auditor.audit_supply)).is_ok
    return figures


async def _storm(runtime: Runtime, dids: list[str]) -> int:
    book = ledger.Book.of(runtime.settings)
    policy = staking.StakingPolicy.of(runtime.settings)
    end = time.perf_counter() + SECONDS
    acts = 0

    async def call() -> None:
        nonlocal acts
        while time.perf_counter() < end:
            await _there_and_back(runtime, random.choice(dids), policy, book)
            acts += 2

    await asyncio.gather(*(call() for _ in range(CALLERS)))
    return acts


async def _there_and_back(
    runtime: Runtime, agent: str, policy: staking.StakingPolicy, book: ledger.Book
) -> None:
    amount = Minor(10 * UNIT)
    order = staking.StakeOrder(agent, amount, 0)
    await runtime.database.transaction(lambda tx: staking.stake(tx, order, policy, book))
    await runtime.database.transaction(
        lambda tx: staking.unstake(
            tx, staking.UnstakeOrder(agent, amount), book, ledger.STAKE_PINS.of(runtime)
        )
    )
