"""Each statement of each act on a dispute or a bond fails once: nothing has changed, and the act can be done afterwards."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

import asyncpg
import httpx2
import pytest

from hansa.foundation.values.errors import Refused
from hansa.rooms.commerce.disputes.deciding import meet_deadline
from tests.faults.failing import Plan, Way, put_under_plan
from tests.properties.proof import prove_book
from tests.registry import DatabaseFarm, TestAgent
from tests.rooms.commerce.agreements import in_days
from tests.rooms.commerce.disputing import (
    EVIDENCE,
    FOR_COMPLAINANT,
    FOR_DEFENDANT,
    Disputing,
    open_disputing,
)
from tests.rooms.reputation.bonded import DAY, Bonded

POOL_SIZE = 2
HANG_SECONDS = 30

_WRITTEN = """
SELECT (SELECT md5(string_agg(d::text, ',' ORDER BY id)) FROM commerce_dispute d) AS disputes,
  (SELECT count(*) FROM commerce_dispute_evidence) AS evidence,
  (SELECT md5(string_agg(c::text, ',' ORDER BY id)) FROM commerce_contract c) AS contracts,
  (SELECT count(*) FROM commerce_contract_history) AS history,
  (SELECT md5(string_agg(concat(liquid, escrow), ',' ORDER BY id)) FROM ledger_account) AS balances,
  (SELECT md5(string_agg(concat(remaining, freezes), ',' ORDER BY id)) FROM ledger_hold) AS holds,
  (SELECT md5(string_agg(b::text, ',' ORDER BY id)) FROM reputation_bond b) AS bonds,
  (SELECT md5(string_agg(concat(bonded, bond_state, bond_amount), ',' ORDER BY did)) FROM catalogue_card) AS cards,
  (SELECT count(*) FROM journal_event WHERE event_type LIKE 'Dispute%' OR event_type LIKE 'Bond%') AS events
"""

Asking = Callable[[], Awaitable[int]]


@dataclass(frozen=True)
class World:
    """Two agents of different owners, and the registry between them."""

    disputing: Disputing
    alice: TestAgent
    bob: TestAgent

    async def contract(self) -> int:
        dates = {"submit_by": in_days(2), "review_by": in_days(4)}
        made = await self.disputing.agreements.submitted(
            self.alice, self.bob, amount="1", funded=True, **dates
        )
        return made["id"]

    @property
    def bonds(self) -> Bonded:
        return Bonded(self.disputing.agreements)

    async def bonded(self, *acts: str) -> TestAgent:
        """Another agent with a bond of 100 units, after these acts."""
        agent = await self.disputing.agreements.contractor()
        await self.bonds.act(agent, "deposit", amount="100")
        for act in acts:
            await self.bonds.act(agent, act)
        return agent

    async def transaction(self) -> str:
        return (await self.alice.transfer(self.bob, "1")).json()["transaction_id"]


async def _file(world: World) -> Asking:
    contract_id = await world.contract()
    return _status(lambda: world.disputing.try_file(world.alice, world.bob, contract_id=contract_id))


async def _evidence(world: World) -> Asking:
    filed = await world.disputing.file(world.alice, world.bob)
    return _status(lambda: world.disputing.post(world.bob, f"{filed['id']}/evidence", **EVIDENCE))


async def _voting(world: World) -> Asking:
    filed = await world.disputing.file(world.alice, world.bob)
    return _status(lambda: world.disputing.try_put(filed, "open-voting"))


async def _slash_and_compensate(world: World) -> Asking:
    paid = await world.transaction()
    filed = await world.disputing.in_voting(world.alice, world.bob, transaction_id=paid)
    amounts = {"compensation_amount": "0.5", "slash_amount": "1"}
    return _status(lambda: world.disputing.try_rule(filed, FOR_COMPLAINANT, **amounts))


async def _give_hold(world: World) -> Asking:
    filed = await world.disputing.in_voting(world.alice, world.bob, contract_id=await world.contract())
    return _status(lambda: world.disputing.try_rule(filed, FOR_DEFENDANT))


async def _dismiss(world: World) -> Asking:
    filed = await world.disputing.in_voting(world.alice, world.bob, contract_id=await world.contract())
    return _status(lambda: world.disputing.try_rule(filed, "DISMISSED"))


async def _rule_on_bond(world: World) -> Asking:
    """A slash that takes the whole bond and a part of the liquid balance."""
    bonded = await world.bonded()
    paid = (await world.alice.transfer(bonded, "120")).json()["transaction_id"]
    filed = await world.disputing.in_voting(world.alice, bonded, transaction_id=paid)
    amounts = {"compensation_amount": "50", "slash_amount": "120"}
    return _status(lambda: world.disputing.try_rule(filed, FOR_COMPLAINANT, **amounts))


async def _deposit(world: World) -> Asking:
    agent = await world.disputing.agreements.contractor()
    return _status(lambda: world.bonds.post(agent, "deposit", key="deposit", amount="100"))


async def _deposit_more(world: World) -> Asking:
    agent = await world.bonded()
    return _status(lambda: world.bonds.post(agent, "deposit", key="deposit-more", amount="10"))


async def _release(world: World) -> Asking:
    agent = await world.bonded()
    return _status(lambda: world.bonds.post(agent, "release"))


async def _unlock(world: World) -> Asking:
    agent = await world.bonded("release")
    await world.bonds.elapse(agent, 15 * DAY)
    return _status(lambda: world.bonds.post(agent, "unlock"))


async def _unruled(world: World) -> Asking:
    filed = await world.disputing.in_voting(world.alice, world.bob, contract_id=await world.contract())
    await world.disputing.move_clock(filed, 31 * 86_400)
    registry = world.disputing.registry

    async def meet() -> int:
        try:
            await registry.database.act(lambda tx: meet_deadline(tx, filed["id"], registry.settings))
        except Refused as refusal:
            return refusal.status
        return 200

    return meet


def _status(ask: Callable[[], Awaitable[httpx2.Response]]) -> Asking:
    async def asked() -> int:
        return (await ask()).status_code

    return asked


# What is done, and what its repetition is answered after it was done and its answer was lost.
ACTS: dict[str, tuple[Callable[[World], Awaitable[Asking]], set[int]]] = {
    "file": (_file, {409}),
    "add evidence": (_evidence, {201}),
    "open voting": (_voting, {409}),
    "slash and compensate": (_slash_and_compensate, {200}),
    "give the hold": (_give_hold, {200}),
    "dismiss": (_dismiss, {200}),
    "leave unruled": (_unruled, {200}),
    "rule on a bond": (_rule_on_bond, {200}),
    "deposit": (_deposit, {200}),
    "deposit more": (_deposit_more, {200}),
    "begin a release": (_release, {409}),
    "unlock": (_unlock, {409}),
}


@pytest.fixture(scope="module")
async def stage(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[tuple[World, Plan, "asyncpg.Connection[asyncpg.Record]"]]:
    """A registry with few connections, so that a spoilt one is met again at once."""
    directory = tmp_path_factory.mktemp("disputes")
    async with open_disputing(
        database_farm, directory, database_pool_size=POOL_SIZE, rate_limit_writes="off"
    ) as disputing:
        agreements = disputing.agreements
        world = World(disputing, await agreements.contractor("10000"), await agreements.provider())
        observer = await asyncpg.connect(disputing.registry.runtime.database.dsn)
        plan = Plan(observer)
        await put_under_plan(disputing.registry.database, plan)
        yield world, plan, observer
        await observer.close()


@pytest.mark.parametrize("name", ACTS)
async def test_whichever_statement_fails_nothing_has_changed_and_the_act_can_be_done(
    name: str, stage: tuple[World, Plan, "asyncpg.Connection[asyncpg.Record]"]
) -> None:
    world, plan, observer = stage
    prepare, repeated = ACTS[name]
    plan.watch()
    statements = await _undisturbed(await prepare(world), plan)
    asked = await prepare(world)
    before = await observer.fetchrow(_WRITTEN)
    for number, statement in enumerate(statements):
        plan.fail(number, Way.REFUSED)
        status = await _within_reason(asked)
        assert plan.has_failed, (number, statement)
        assert status >= 500, (status, statement)
        assert await observer.fetchrow(_WRITTEN) == before, (name, number, statement)
    commit = max(number for number, statement in enumerate(statements) if "COMMIT" in statement)
    plan.fail(commit, Way.ANSWER_LOST)
    assert await _within_reason(asked) >= 500
    plan.watch()
    done = await observer.fetchrow(_WRITTEN)
    assert done != before
    statuses = [await _within_reason(asked) for _ in range(POOL_SIZE + 1)]
    assert statuses[-1] in repeated, statuses
    if 201 not in repeated:
        assert await observer.fetchrow(_WRITTEN) == done
    await prove_book(observer)
    await world.bonds.prove()


async def _undisturbed(asked: Asking, plan: Plan) -> list[str]:
    plan.watch()
    assert await asked() in {200, 201}
    return list(plan.listed)


async def _within_reason(asked: Asking) -> int:
    async with asyncio.timeout(HANG_SECONDS):
        return await asked()
