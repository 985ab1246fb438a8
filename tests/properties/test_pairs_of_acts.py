"""Every two acts on one object that meet leave and answer the same as one of them after the other.

They meet in one batch of the ledger, in batches of two processes, and in two servers on one database.
"""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Any

import httpx2
import pytest

from hansa.doors.http.app import build_app
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import ledger
from tests.hostile.served import serve
from tests.properties.acts_on_one_object import MAKERS, Act, Met, Objects, Outcome
from tests.properties.scale import by_tier, printed_seed
from tests.registry import DatabaseFarm, TestAgent, TestRegistry, another_process
from tests.rooms.ledger.staking.stakers import ROLES
from tests.rooms.reputation.bonded import Bonded, open_bonded

TIMES = by_tier(1, 5, 30)
PAIRS = by_tier(4, 1_000, 1_000)
SERVED = by_tier(("a token", "a reserved token"), tuple(MAKERS), tuple(MAKERS))
GATHERING = {"settle", "release", "approve", "capture", "award", "unstake all", "pay"}
PAIRS_OF_SERVERS = by_tier(10, 40, 400)
WITHIN_SECONDS = 60

Left = tuple[tuple[Outcome, ...], tuple[Any, ...]]


@dataclass(frozen=True)
class Stage:
    """A registry, another process on its database, and two agents whose transfers keep the first one waiting."""

    bonds: Bonded
    objects: Objects
    draw: random.Random
    other: TestRegistry
    payer: TestAgent
    payee: TestAgent

    @property
    def registry(self) -> TestRegistry:
        return self.bonds.registry

    async def after_each_other(self, maker: str, acts: tuple[str, str]) -> Left:
        """Return the state and the answers of both, one after the other."""
        met, before = await self.met(maker)
        outcomes = [await met.acts[act](self.registry) for act in acts]
        return tuple(outcomes), await self._left(met, before)

    async def in_one_batch(self, maker: str, acts: tuple[str, str]) -> Left:
        """Do the same as `after_each_other`, while the ledger of the process waits: acts that gather are in its next batch."""
        met, before = await self.met(maker)
        outcomes = await self._while_a_batch_waits([met.acts[act] for act in acts])
        return tuple(outcomes), await self._left(met, before)

    async def at_once(self, maker: str, acts: tuple[str, str], *via: TestRegistry) -> Left:
        """Do the same as `after_each_other`, at the same moment in two processes."""
        met, before = await self.met(maker)
        asking = (met.acts[act](process) for act, process in zip(acts, via, strict=True))
        return tuple(await asyncio.gather(*asking)), await self._left(met, before)

    async def met(self, maker: str) -> tuple[Met, tuple[Any, ...]]:
        met = await MAKERS[maker](self.objects)
        return met, await met.state(self.registry)

    async def _left(self, met: Met, before: tuple[Any, ...]) -> tuple[Any, ...]:
        (row, held), (_, held_before) = await met.state(self.registry), before
        moved = [
            tuple(now - then for now, then in zip(*both, strict=True))
            for both in zip(held, held_before, strict=True)
        ]
        return row, tuple(moved)

    async def _while_a_batch_waits(self, acts: list[Act]) -> list[Outcome]:
        group = ledger.GROUP_COMMIT.of(self.registry.runtime)

        async def both(tx: Tx) -> list[asyncio.Task[Outcome]]:
            await tx.execute("SELECT FROM ledger_account WHERE did = $1 FOR UPDATE", self.payer.did)
            keeping = asyncio.create_task(self.payer.transfer(self.payee, "0.00000001"))
            async with asyncio.timeout(WITHIN_SECONDS):
                while not group._under_way:  # noqa: ASYNC110
                    await asyncio.sleep(0.001)
                asking = [asyncio.create_task(act(self.registry)) for act in acts]
                while sum(one.done() for one in asking) + len(group._waiting) < len(acts):  # noqa: ASYNC110
                    await asyncio.sleep(0.001)
            return [keeping, *asking]

        keeping, *asking = await self.registry.database.transaction(both)
        assert (await keeping).status_code == 200
        return [await one for one in asking]


@pytest.fixture(scope="module")
async def stage(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Stage]:
    limits = {"rate_limit_writes": "off", "genesis_supply": "1000000000"}
    staking = {"staking_enabled": True, "agent_rbac_default_roles": ROLES}
    async with (
        open_bonded(
            database_farm, tmp_path_factory.mktemp("met"), bond_mode="off", **limits, **staking
        ) as bonds,
        AsyncExitStack() as stack,
    ):
        runtime = another_process(bonds.registry.runtime)
        app = build_app(runtime)
        transport = httpx2.ASGITransport(app=app, raise_app_exceptions=False)
        http = httpx2.AsyncClient(transport=transport, base_url="http://registry.test")
        other = TestRegistry(runtime, app, await stack.enter_async_context(http))
        payer, payee = [await bonds.agreements.contractor("1") for _ in range(2)]
        yield Stage(bonds, await Objects.of(bonds), random.Random(printed_seed()), other, payer, payee)
        await bonds.prove()


@pytest.mark.parametrize("maker", MAKERS)
async def test_two_acts_on_one_object_leave_and_answer_what_one_does_after_the_other(
    maker: str, stage: Stage
):
    met, _ = await stage.met(maker)
    for acts in _pairs(met, stage.draw):
        allowed = await _allowed(stage, maker, acts)
        assert await stage.in_one_batch(maker, acts) in allowed, ("in one batch", acts)
        for _ in range(TIMES):
            left = await stage.at_once(maker, acts, stage.registry, stage.other)
            assert left in allowed, ("in two processes", acts)


async def test_of_two_servers_on_one_database_one_settles_or_the_other_one_releases(stage: Stage):
    async with AsyncExitStack() as stack:
        servers = []
        for _ in range(2):
            served = await stack.enter_async_context(serve(stage.registry, RATE_LIMIT_WRITES="off"))
            http = httpx2.AsyncClient(base_url=served.url, trust_env=False, timeout=60)
            await stack.enter_async_context(http)
            servers.append(TestRegistry(stage.registry.runtime, stage.registry.app, http))
        for maker in SERVED:
            acts = ("settle", "release")
            allowed = await _allowed(stage, maker, acts)
            for number in range(PAIRS_OF_SERVERS):
                via = servers if number % 2 else [servers[0], servers[0]]
                assert await stage.at_once(maker, acts, *via) in allowed, number


def _pairs(met: Met, draw: random.Random) -> list[tuple[str, str]]:
    """Those whose acts gather in one batch, and some of the others."""
    pairs = list(combinations_with_replacement(met.acts, 2))
    gathering = [pair for pair in pairs if GATHERING.issuperset(pair)]
    others = [pair for pair in pairs if pair not in gathering]
    return gathering + draw.sample(others, min(PAIRS, len(others)))


async def _allowed(stage: Stage, maker: str, acts: tuple[str, str]) -> list[Left]:
    first, second = acts
    (later, earlier), left = await stage.after_each_other(maker, (second, first))
    return [await stage.after_each_other(maker, acts), ((earlier, later), left)]
