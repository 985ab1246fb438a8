"""Acceptance and renewal of an operator whose statements fail: peer and both certificates are there, or none of them."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import asyncpg

from hansa.rooms.federation.operators import renew_certificates
from tests.faults.completed import POOL_SIZE, CompletedActs, observed
from tests.faults.failing import Fault, Plan, put_under_plan
from tests.other_registry import let_reach
from tests.peer_administrator import PeerAdministrator, peer_administrator
from tests.properties.scale import by_tier
from tests.registries_of_one_frame import OtherFrame
from tests.registry import StartRegistry

FAULTS: tuple[Fault, ...] = by_tier((Fault.REFUSED,), tuple(Fault), tuple(Fault))
# Each commit fails every fourth statement of an acceptance, which has some forty; the deeper tiers fail all.
STEP = by_tier(4, 1, 1)
WITHIN_SECONDS = 30
ACCEPT = "/api/v1/admin/federation/invitations/accept"

_AFRESH = """
DELETE FROM federation_peer; DELETE FROM federation_identity; UPDATE federation_trust SET own_roots = NULL;
DELETE FROM plumbing_job WHERE kind LIKE 'federation: read%'
"""

_STATE = """
SELECT (SELECT count(*) FROM federation_peer) AS peers,
  (SELECT count(*) FROM federation_identity WHERE certificate IS NOT NULL) AS certificates,
  (SELECT count(*) FROM federation_identity WHERE sealed_requested_key IS NOT NULL) AS requests,
  (SELECT own_roots IS NOT NULL FROM federation_trust) AS has_roots
"""

_HALF_GONE = """
UPDATE federation_identity SET begins_at = begins_at - interval '4 days', expires_at = expires_at - interval '4 days'
"""


@dataclass(frozen=True)
class World:
    """An operator registry, its frame, and the plan by which the statements of the operator fail."""

    operator: PeerAdministrator
    frame: OtherFrame
    plan: Plan
    observer: "asyncpg.Connection[asyncpg.Record]"

    async def accept(self) -> int:
        body = {"invitation": self.frame.invitation("north")}
        async with asyncio.timeout(WITHIN_SECONDS):
            registry = self.operator.registry
            answer = await registry.http.post(ACCEPT, json=body, headers=self.operator.headers)
        return answer.status_code

    async def state(self) -> tuple[int, int, int, bool]:
        """How many peers, certificates and requests there are, and whether the roots of the frame are known."""
        return tuple(await self.observer.fetchrow(_STATE))  # type: ignore[arg-type]


@asynccontextmanager
async def _world(start_registry: StartRegistry) -> AsyncIterator[World]:
    registry = await start_registry(
        registry_name="north",
        registry_tier="cloud-operator",
        federation_base_url="https://north.example.com:8443",
        database_pool_size=POOL_SIZE,
        rate_limit_reads="off",
        rate_limit_writes="off",
    )
    frame = OtherFrame(registry.settings.trust_domain)
    let_reach(registry.runtime, frame)
    async with observed(registry) as (plan, observer):
        yield World(await peer_administrator(registry), frame, plan, observer)


async def _accept(world: World, fault: Fault) -> None:
    """An acceptance that fails at any statement is completed by the same command."""
    await put_under_plan(world.operator.registry.database, world.plan)
    number, carried_out = 0, False
    while not carried_out:
        world.plan.watch()
        await world.observer.execute(_AFRESH)
        world.plan.fail(number, fault)
        status = await world.accept()
        carried_out = not world.plan.has_failed
        world.plan.watch()
        peers, certificates, _, has_roots = await world.state()
        assert (peers, certificates) in {(0, 0), (1, 2)}, number
        assert has_roots or not certificates
        assert status != 201 or peers == 1
        assert await world.accept() == 201, number
        assert await world.state() == (1, 2, 0, True)
        number += STEP
    assert number > 10


async def _renew(world: World, fault: Fault) -> None:
    """A renewal that fails at any statement leaves valid certificates and is completed by the next."""
    assert await world.accept() == 201
    runtime = world.operator.registry.runtime
    await put_under_plan(runtime.database, world.plan)
    number, carried_out = 0, False
    while not carried_out:
        await world.observer.execute(_HALF_GONE)
        before = await certificates_of(world)
        world.plan.fail(number, fault)
        async with asyncio.timeout(WITHIN_SECONDS):
            await asyncio.gather(renew_certificates(runtime), return_exceptions=True)
        carried_out = not world.plan.has_failed
        world.plan.watch()
        after = await certificates_of(world)
        assert len(after) == 2
        assert after == before or not set(after) & set(before), "both are renewed, or none"
        if after == before:
            await renew_certificates(runtime)
        assert (await world.state())[1:3] == (2, 0)
        number += 1
    assert number > 5


async def certificates_of(world: World) -> list[Any]:
    rows = await world.observer.fetch("SELECT certificate FROM federation_identity ORDER BY kind")
    return [row["certificate"] for row in rows]


async def _fail_each(
    act: Callable[[World, Fault], Awaitable[None]], fault: Fault, start_registry: StartRegistry
) -> None:
    async with _world(start_registry) as world:
        await act(world, fault)


ENROLMENT = CompletedActs(
    "enrolment",
    {
        f"{name}, {fault.value}": partial(_fail_each, act, fault)
        for name, act in (("acceptance", _accept), ("renewal", _renew))
        for fault in FAULTS
    },
)
