"""Each statement of each act of enforcement fails once, by each fault there is; repeating the act completes it."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import asyncpg
import pytest

from tests.faults.failing import Fault, Plan, in_turn, put_under_plan
from tests.registry import StartRegistry, TestAgent, TestDeveloper, TestRegistry

FAULTS = (Fault.REFUSED, Fault.ANSWER_LOST)
ACTS = {"suspend": "reinstate", "reinstate": "suspend"}
EVENTS = {"suspend": {3}, "reinstate": {3, 4}}
TRIES = 4
WITHIN_SECONDS = 30

_PARTS = """
SELECT a.status, c.status AS card, l.status AS account, m.status AS identity, s.withheld_since IS NOT NULL AS withheld,
  (SELECT count(*) FROM enforcement_suspension WHERE did = a.did AND lifted_at IS NULL) AS active,
  (SELECT count(*) FROM journal_event WHERE aggregate_id = a.did) AS events
FROM agents_agent a JOIN catalogue_card c USING (did) JOIN ledger_account l USING (did)
JOIN agents_mtls m ON m.agent_id = a.id LEFT JOIN enforcement_agent s USING (did) WHERE did = $1
"""

_ENROL = """
INSERT INTO agents_mtls (agent_id, spiffe_id, expires_at)
SELECT id, 'spiffe://hansa.local/agent/one', now() + interval '30 minutes' FROM agents_agent WHERE did = $1
"""


@dataclass(frozen=True)
class World:
    """A registry with one agent that has a workload identity, and an administrator."""

    registry: TestRegistry
    agent: TestAgent
    admin: TestDeveloper
    plan: Plan
    observer: "asyncpg.Connection[asyncpg.Record]"

    async def ask(self, act: str) -> tuple[int, list[str]]:
        """The status, and the result of each effect."""
        body = {"agent_dids": [self.agent.did], "reason": "For a test."}
        async with asyncio.timeout(WITHIN_SECONDS):
            answer = await self.registry.post(
                f"/admin/agents/bulk/{act}", json=body, headers=self.admin.headers
            )
        if answer.status_code != 200:
            return answer.status_code, []
        (row,) = answer.json()["results"]
        return 200, [row["registry"], row["mtls"], row["teg"]]

    async def complete(self, act: str) -> None:
        """Repeat the act until every effect is applied."""
        for _ in range(TRIES):
            status, effects = await self.ask(act)
            if status == 200 and "failed" not in effects:
                return
        raise AssertionError(f"{act} does not come to its end: {status} {effects}")

    async def parts(self) -> dict[str, Any]:
        return dict(await self.observer.fetchrow(_PARTS, self.agent.did))


@pytest.fixture
async def world(start_registry: StartRegistry) -> AsyncIterator[World]:
    registry = await start_registry(database_pool_size=2, rate_limit_reads="off")
    agent, admin = await registry.agent(), await registry.administrator("admin_enforcement")
    await registry.database.transaction(lambda tx: tx.execute(_ENROL, agent.did))
    observer = await asyncpg.connect(registry.database.dsn)
    plan = Plan(observer)
    await put_under_plan(registry.database, plan)
    yield World(registry, agent, admin, plan, observer)
    await observer.close()


@pytest.mark.parametrize("act", ACTS)
async def test_whichever_statement_of_an_act_fails_repeating_it_completes_it_and_publishes_it_once(
    act: str, world: World
):
    back = ACTS[act]
    if act == "reinstate":
        await world.complete("suspend")
    await world.complete(act)
    wanted = await world.parts()
    await world.complete(back)
    world.plan.watch()
    assert (await world.ask(act))[0] == 200
    statements = list(world.plan.listed)
    for number, statement in enumerate(statements):
        for fault in in_turn(number, FAULTS):
            world.plan.watch()
            await world.complete(back)
            before = (await world.parts())["events"]
            world.plan.fail(number, fault)
            status, _ = await world.ask(act)
            site = f"{act}, statement {number} ({statement[:60]}): {fault.value}"
            assert world.plan.has_failed, site
            assert status in {200, 503}, site
            world.plan.watch()
            await world.complete(act)
            now = await world.parts()
            assert {**now, "events": 0} == {**wanted, "events": 0}, site
            # The status and the identity: each has one event of its own. What is given back later than the status
            # is published by one more, so that the blocklist follows.
            assert now["events"] - before in EVENTS[act], site
    print(f"{act}: {len(statements)} statements, each failed once")
