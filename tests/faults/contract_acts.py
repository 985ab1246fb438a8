"""Acts on contracts, as rows of the table of acts whose statements fail."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hansa.rooms.commerce.contracts.deadlines import meet_deadline
from hansa.rooms.commerce.contracts.suspension import end_of_revoked, resume, stop
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
from tests.paying import Payments
from tests.registry import DatabaseFarm, TestAgent
from tests.rooms.commerce.agreements import DAY, Agreements, in_days, open_agreements, proposal

MILESTONES = [{"title": "Draft", "amount": "0.4"}, {"title": "Final", "amount": "0.6"}]


@dataclass(frozen=True)
class World:
    """A contractor and a provider of different owners."""

    agreements: Agreements
    alice: TestAgent
    bob: TestAgent

    def terms(self, **more: Any) -> dict[str, Any]:
        return {"amount": "1", "submit_by": in_days(2), "review_by": in_days(4), **more}

    async def proposed(self, **more: Any) -> Any:
        return await self.agreements.propose(self.alice, self.bob, **self.terms(**more))

    async def accepted(self, **more: Any) -> Any:
        return await self.agreements.accepted(self.alice, self.bob, **self.terms(**more))

    async def submitted(self, **more: Any) -> Any:
        return await self.agreements.submitted(self.alice, self.bob, **self.terms(**more))

    def asking(self, agent: TestAgent, contract: Any, act: str, **members: Any) -> Asking:
        return status_of(lambda: self.agreements.post(agent, f"/{contract['id']}/{act}", **members))

    async def due(self, contract: Any, days: float) -> Asking:
        """The deadline of a contract has come."""
        await self.agreements.move_clock(contract, days * DAY)
        runtime = self.agreements.registry.runtime
        return self.work(lambda tx: meet_deadline(tx, contract["id"], runtime))

    def work(self, act: Callable[[Any], Awaitable[None]]) -> Asking:
        return status_of_work(self.agreements.registry, act)


async def _propose(world: World) -> Asking:
    body, key = proposal(world.bob, **world.terms(milestones=MILESTONES)), f"key-{in_days(0)}"
    return status_of(lambda: world.agreements.post(world.alice, "", key=key, **body))


async def _accept(world: World) -> Asking:
    return world.asking(world.bob, await world.proposed(), "accept")


async def _accept_funded(world: World) -> Asking:
    contract = await world.proposed(funded=True)
    return world.asking(world.bob, contract, "accept", key=f"accept-{contract['id']}")


async def _submit(world: World) -> Asking:
    contract = await world.accepted(milestones=MILESTONES)
    return world.asking(world.bob, contract, "submit", milestone=0)


async def _request_changes(world: World) -> Asking:
    return world.asking(world.alice, await world.submitted(), "request-changes", note="Page 3.")


async def _approve(world: World) -> Asking:
    contract = await world.submitted()
    return world.asking(world.alice, contract, "approve-completion", key=f"approve-{contract['id']}")


async def _approve_from_hold(world: World) -> Asking:
    return world.asking(world.alice, await world.submitted(funded=True), "approve-completion")


async def _approve_milestone(world: World) -> Asking:
    contract = await world.submitted(funded=True, milestones=MILESTONES)
    return world.asking(world.alice, contract, "approve-completion", milestone=0)


async def _approve_by_token(world: World) -> Asking:
    contract = await world.submitted()
    token = await Payments(world.agreements.registry, world.alice, world.bob).authorized("1")
    return world.asking(world.alice, contract, "approve-completion", payment_token=token["token"])


async def _mark_failed(world: World) -> Asking:
    return world.asking(world.alice, await world.submitted(funded=True), "mark-failed", reason="Nothing.")


async def _cancel(world: World) -> Asking:
    return world.asking(world.alice, await world.proposed(), "cancel")


async def _proposal_expires(world: World) -> Asking:
    return await world.due(await world.proposed(), 30)


async def _not_submitted(world: World) -> Asking:
    return await world.due(await world.accepted(funded=True), 3)


async def _not_reviewed(world: World) -> Asking:
    return await world.due(await world.submitted(funded=True), 5)


async def _approved_by_silence(world: World) -> Asking:
    return await world.due(await world.submitted(funded=True, auto_approve=True), 5)


async def _hold_is_released(world: World) -> Asking:
    contract = await world.submitted(funded=True)
    await world.agreements.act(world.alice, contract, "mark-failed")
    return await world.due(contract, 4)


async def _stop(world: World) -> Asking:
    contract = await world.accepted(funded=True)
    now = await world.agreements.registry.database.read(lambda tx: tx.fetchval("SELECT now()"))
    return world.work(lambda tx: stop(tx, contract["id"], world.bob.did, now))


async def _resume(world: World) -> Asking:
    contract = await world.accepted(funded=True)
    database = world.agreements.registry.database
    now = await database.read(lambda tx: tx.fetchval("SELECT now()"))
    await database.transaction(lambda tx: stop(tx, contract["id"], world.bob.did, now))
    return world.work(lambda tx: resume(tx, contract["id"], world.bob.did, now))


async def _revoke(world: World) -> Asking:
    contract = await world.accepted(funded=True)
    settings = world.agreements.registry.settings
    return world.work(lambda tx: end_of_revoked(tx, contract["id"], world.bob.did, settings))


ACTS: dict[str, FailingAct[World]] = {
    "propose": (_propose, {201}),
    "accept": (_accept, {409}),
    "accept and fund": (_accept_funded, {200}),
    "submit a milestone": (_submit, {409}),
    "request changes": (_request_changes, {409}),
    "approve": (_approve, {200}),
    "approve from the hold": (_approve_from_hold, {409}),
    "approve a milestone": (_approve_milestone, {409}),
    "approve by a payment token": (_approve_by_token, {409}),
    "declare a failure": (_mark_failed, {409}),
    "cancel": (_cancel, {409}),
    "let a proposal expire": (_proposal_expires, {200}),
    "submit nothing": (_not_submitted, {200}),
    "review nothing": (_not_reviewed, {200}),
    "approve by silence": (_approved_by_silence, {200}),
    "release the hold": (_hold_is_released, {200}),
    "stop for a suspension": (_stop, {200}),
    "resume after a suspension": (_resume, {200}),
    "end for a revocation": (_revoke, {200}),
}


@asynccontextmanager
async def _open_stage(farm: DatabaseFarm, directory: Path) -> AsyncIterator[FaultStage[World]]:
    async with open_agreements(farm, directory, **FEW_CONNECTIONS) as agreements:
        world = World(agreements, await agreements.contractor("10000"), await agreements.provider())
        async with fault_stage(agreements.registry, world) as stage:
            yield stage


async def _prove(stage: FaultStage[World], name: str) -> None:
    del name
    await stage.world.agreements.prove()


CONTRACTS = FailingActs("contracts", ACTS, _open_stage, _prove)
