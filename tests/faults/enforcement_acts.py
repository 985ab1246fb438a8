"""Acts of enforcement whose statements fail: repeating the act completes it."""

import asyncio
from dataclasses import dataclass
from functools import partial
from typing import Any

import asyncpg

from tests.faults.completed import POOL_SIZE, CompletedActs, failures, observed
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


async def _fail_each(act: str, start_registry: StartRegistry) -> None:
    registry = await start_registry(database_pool_size=POOL_SIZE, rate_limit_reads="off")
    agent, admin = await registry.agent(), await registry.administrator("admin_enforcement")
    await registry.database.transaction(lambda tx: tx.execute(_ENROL, agent.did))
    async with observed(registry) as (plan, observer):
        await put_under_plan(registry.database, plan)
        await _fail_each_statement(act, World(registry, agent, admin, plan, observer))


async def _fail_each_statement(act: str, world: World) -> None:
    """Each statement of an act fails once, by each fault there is; repeating the act completes it and publishes it once."""
    back = ACTS[act]
    if act == "reinstate":
        await world.complete("suspend")
    await world.complete(act)
    wanted = await world.parts()
    await world.complete(back)
    world.plan.watch()
    assert (await world.ask(act))[0] == 200
    for failure in failures(world.plan, lambda number, _: in_turn(number, FAULTS)):
        site = f"{act}, {failure}"
        await world.complete(back)
        before = (await world.parts())["events"]
        with failure.happens():
            status, _ = await world.ask(act)
        assert status in {200, 503}, site
        await world.complete(act)
        now = await world.parts()
        assert {**now, "events": 0} == {**wanted, "events": 0}, site
        # The status and the identity: each has one event of its own. What is given back later than the status
        # is published by one more, so that the blocklist follows.
        assert now["events"] - before in EVENTS[act], site


ENFORCEMENT = CompletedActs("enforcement", {act: partial(_fail_each, act) for act in ACTS})
