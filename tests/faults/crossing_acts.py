"""Steps of a crossing in the ledger, as rows of the table of acts whose statements fail."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

from hansa.foundation.values.money import Minor
from hansa.rooms import ledger
from tests.faults.unchanged import (
    POOL_SIZE,
    Asking,
    FailingAct,
    FailingActs,
    FaultStage,
    fault_stage,
    status_of_work,
)
from tests.registry import DatabaseFarm, TestAgent
from tests.rooms.ledger.purses import Purses, open_purses

PEER = "peer.example"
AMOUNT, FEE = Minor(10**8), Minor(500_000)


class Corridor:
    """An agent, and transfers with one peer."""

    def __init__(self, purses: Purses, agent: TestAgent) -> None:
        self.purses, self.agent = purses, agent
        self.book = ledger.Book.of(purses.registry.settings)

    def asking(self, step: Any) -> Asking:
        order = step.order(self.book)
        return status_of_work(self.purses.registry, lambda tx: ledger.apply(tx, [order], self.book))

    def reserve_out(self) -> ledger.ReserveOut:
        return ledger.ReserveOut(PEER, uuid4(), self.agent.did, AMOUNT)

    def reserve_in(self) -> ledger.ReserveIn:
        return ledger.ReserveIn(PEER, uuid4(), self.agent.did, AMOUNT, FEE, None)


def _first(reserve: Callable[[Corridor], Any]) -> Callable[[Corridor], Awaitable[Asking]]:
    async def prepare(corridor: Corridor) -> Asking:
        return corridor.asking(reserve(corridor))

    return prepare


def _then(reserve: Callable[[Corridor], Any], decision: Any) -> Callable[[Corridor], Awaitable[Asking]]:
    async def prepare(corridor: Corridor) -> Asking:
        reserved = reserve(corridor)
        assert await corridor.asking(reserved)() == 200
        return corridor.asking(decision(PEER, reserved.transfer_id))

    return prepare


STEPS: dict[str, FailingAct[Corridor]] = {
    "reserve out": (_first(Corridor.reserve_out), {200}),
    "commit out": (_then(Corridor.reserve_out, ledger.CommitOut), {200}),
    "abort out": (_then(Corridor.reserve_out, ledger.AbortOut), {200}),
    "reserve in": (_first(Corridor.reserve_in), {200}),
    "commit in": (_then(Corridor.reserve_in, ledger.CommitIn), {200}),
    "abort in": (_then(Corridor.reserve_in, ledger.AbortIn), {200}),
}


@asynccontextmanager
async def _open_stage(farm: DatabaseFarm, directory: Path) -> AsyncIterator[FaultStage[Corridor]]:
    async with open_purses(farm, directory, database_pool_size=POOL_SIZE) as purses:
        corridor = Corridor(purses, await purses.agent("1000"))
        async with fault_stage(purses.registry, corridor) as stage:
            yield stage


async def _prove(stage: FaultStage[Corridor], name: str) -> None:
    del name
    await stage.world.purses.prove()
    totals = await stage.world.purses.registry.database.read(ledger.corridor_totals)
    assert [one.frame for one in totals if one.delta] == []


CROSSINGS = FailingActs("crossings", STEPS, _open_stage, _prove)
