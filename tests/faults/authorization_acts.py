"""Recording and withdrawing an authorization whose statements fail: the card states exactly the live ones."""

import asyncio
from dataclasses import dataclass
from functools import partial
from typing import Any

from tests.faults.completed import POOL_SIZE, CompletedActs, observed
from tests.faults.failing import Fault, Plan, put_under_plan
from tests.properties.scale import by_tier
from tests.registry import StartRegistry, TestDeveloper, TestRegistry

FAULTS: tuple[Fault, ...] = by_tier((Fault.REFUSED, Fault.ANSWER_LOST), tuple(Fault), tuple(Fault))
WITHIN_SECONDS = 30
PATH = "/api/v1/admin/jurisdiction/authorizations"
BODY = {
    "action": "fiat.lane",
    "authority": "Example authority",
    "subject": "hansa.local",
    "evidence": {"tier": "reference", "reference": "Register no. 42"},
}


@dataclass(frozen=True)
class World:
    """A registry, its administrator, and the plan by which its statements fail."""

    registry: TestRegistry
    admin: TestDeveloper
    plan: Plan

    async def request(self, method: str, path: str, **more: Any) -> int:
        async with asyncio.timeout(WITHIN_SECONDS):
            answer = await self.registry.http.request(method, path, headers=self.admin.headers, **more)
        return answer.status_code

    async def live(self) -> list[str]:
        """The ids of the live authorizations, of which the card and the audit log know."""
        listed = (await self.registry.get("/jurisdiction/authorizations")).json()["authorizations"]
        card = (await self.registry.http.get("/.well-known/registry-card.json")).json()
        assert card.get("compliance", {"authorizations": []})["authorizations"] == listed
        acts = "SELECT subject FROM plumbing_admin_act WHERE act = 'authorization.record'"
        recorded = {row["subject"] for row in await self.registry.database.read(lambda tx: tx.fetch(acts))}
        found = [one["id"] for one in listed]
        assert set(found) <= recorded
        return found


async def _record_and_withdraw(fault: Fault, start_registry: StartRegistry) -> None:
    registry = await start_registry(
        database_pool_size=POOL_SIZE, rate_limit_reads="off", rate_limit_writes="off"
    )
    admin = await registry.administrator("admin_platform")
    async with observed(registry) as (plan, _):
        await _fail_each(World(registry, admin, plan), fault)


async def _fail_each(world: World, fault: Fault) -> None:
    await put_under_plan(world.registry.database, world.plan)
    for act in ("record", "withdraw"):
        number, carried_out = 0, False
        while not carried_out:
            world.plan.watch()
            before = await world.live()
            if act == "withdraw" and not before:
                assert await world.request("POST", PATH, json=BODY) == 201
                before = await world.live()
            world.plan.fail(number, fault)
            if act == "record":
                status = await world.request("POST", PATH, json=BODY)
            else:
                status = await world.request("DELETE", f"{PATH}/{before[0]}")
            carried_out = not world.plan.has_failed
            world.plan.watch()
            after = await world.live()
            change = len(after) - len(before)
            # What was committed and not answered stays committed; nothing is half done.
            assert change in ({0, 1} if act == "record" else {0, -1})
            if status < 300:
                assert change == (1 if act == "record" else -1)
            number += 1
        assert number > 5


AUTHORIZATIONS = CompletedActs(
    "authorization", {fault.value: partial(_record_and_withdraw, fault) for fault in FAULTS}
)
