"""Acts on disputes, bonds and flares, as rows of the table of acts whose statements fail."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from hansa.rooms.commerce.disputes.deciding import meet_deadline
from tests.achieving import buy
from tests.faults.unchanged import (
    FEW_CONNECTIONS,
    Asking,
    FailingAct,
    FailingActs,
    FaultStage,
    fault_stage,
    status_of,
    status_of_work,
)
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
    return status_of(lambda: world.disputing.try_file(world.alice, world.bob, contract_id=contract_id))


async def _evidence(world: World) -> Asking:
    filed = await world.disputing.file(world.alice, world.bob)
    return status_of(lambda: world.disputing.post(world.bob, f"{filed['id']}/evidence", **EVIDENCE))


async def _voting(world: World) -> Asking:
    filed = await world.disputing.file(world.alice, world.bob)
    return status_of(lambda: world.disputing.try_put(filed, "open-voting"))


async def _slash_and_compensate(world: World) -> Asking:
    paid = await world.transaction()
    filed = await world.disputing.in_voting(world.alice, world.bob, transaction_id=paid)
    amounts = {"compensation_amount": "0.5", "slash_amount": "1"}
    return status_of(lambda: world.disputing.try_rule(filed, FOR_COMPLAINANT, **amounts))


async def _give_hold(world: World) -> Asking:
    filed = await world.disputing.in_voting(world.alice, world.bob, contract_id=await world.contract())
    return status_of(lambda: world.disputing.try_rule(filed, FOR_DEFENDANT))


async def _dismiss(world: World) -> Asking:
    filed = await world.disputing.in_voting(world.alice, world.bob, contract_id=await world.contract())
    return status_of(lambda: world.disputing.try_rule(filed, "DISMISSED"))


async def _rule_on_bond(world: World) -> Asking:
    """A slash that takes the whole bond and a part of the liquid balance."""
    bonded = await world.bonded()
    paid = (await world.alice.transfer(bonded, "120")).json()["transaction_id"]
    filed = await world.disputing.in_voting(world.alice, bonded, transaction_id=paid)
    amounts = {"compensation_amount": "50", "slash_amount": "120"}
    return status_of(lambda: world.disputing.try_rule(filed, FOR_COMPLAINANT, **amounts))


async def _deposit(world: World) -> Asking:
    agent = await world.disputing.agreements.contractor()
    return status_of(lambda: world.bonds.post(agent, "deposit", key="deposit", amount="100"))


async def _deposit_more(world: World) -> Asking:
    agent = await world.bonded()
    return status_of(lambda: world.bonds.post(agent, "deposit", key="deposit-more", amount="10"))


async def _release(world: World) -> Asking:
    agent = await world.bonded()
    return status_of(lambda: world.bonds.post(agent, "release"))


async def _unlock(world: World) -> Asking:
    agent = await world.bonded("release")
    await world.bonds.elapse(agent, 15 * DAY)
    return status_of(lambda: world.bonds.post(agent, "unlock"))


async def _buy_flare(world: World) -> Asking:
    agent = await world.disputing.agreements.contractor()
    return status_of(lambda: buy(agent, "ring", "10", key="flare"))


async def _unruled(world: World) -> Asking:
    filed = await world.disputing.in_voting(world.alice, world.bob, contract_id=await world.contract())
    await world.disputing.move_clock(filed, 31 * 86_400)
    registry = world.disputing.registry
    return status_of_work(registry, lambda tx: meet_deadline(tx, filed["id"], registry.settings))


ACTS: dict[str, FailingAct[World]] = {
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
    "buy a flare": (_buy_flare, {200}),
}


@asynccontextmanager
async def _open_stage(farm: DatabaseFarm, directory: Path) -> AsyncIterator[FaultStage[World]]:
    async with open_disputing(farm, directory, **FEW_CONNECTIONS) as disputing:
        agreements = disputing.agreements
        world = World(disputing, await agreements.contractor("10000"), await agreements.provider())
        async with fault_stage(disputing.registry, world) as stage:
            yield stage


async def _prove(stage: FaultStage[World], name: str) -> None:
    del name
    await stage.world.bonds.prove()


DISPUTES = FailingActs("disputes", ACTS, _open_stage, _prove)
