"""Each statement of each step of a crossing fails once: nothing has changed, and the step is done once by a repetition."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any
from uuid import uuid4

import pytest

from hansa.foundation.values.errors import Refused
from hansa.foundation.values.money import Minor
from hansa.rooms import ledger
from tests.faults.unchanged import POOL_SIZE, Asking, FaultStage, fault_stage
from tests.registry import DatabaseFarm, TestAgent
from tests.rooms.ledger.purses import Purses, open_purses

PEER = "peer.example"
AMOUNT, FEE = Minor(10**8), Minor(500_000)


class Corridor:
    """An agent, and transfers with one peer."""

    def __init__(self, purses: Purses, agent: TestAgent) -> None:
        self.purses, self.agent = purses, agent
        self.book = ledger.Book.of(purses.registry.settings)

    async def carry_out(self, step: Any) -> None:
        order = step.order(self.book)
        await self.purses.registry.database.transaction(lambda tx: ledger.apply(tx, [order], self.book))

    def asking(self, step: Any) -> Asking:
        async def ask() -> int:
            try:
                await self.carry_out(step)
            except Refused as refusal:
                return refusal.status
            return 200

        return ask

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
        await corridor.carry_out(reserved)
        return corridor.asking(decision(PEER, reserved.transfer_id))

    return prepare


STEPS = {
    "reserve out": _first(Corridor.reserve_out),
    "commit out": _then(Corridor.reserve_out, ledger.CommitOut),
    "abort out": _then(Corridor.reserve_out, ledger.AbortOut),
    "reserve in": _first(Corridor.reserve_in),
    "commit in": _then(Corridor.reserve_in, ledger.CommitIn),
    "abort in": _then(Corridor.reserve_in, ledger.AbortIn),
}


@pytest.fixture(scope="module")
async def stage(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[FaultStage[Corridor]]:
    directory = tmp_path_factory.mktemp("crossed")
    async with open_purses(database_farm, directory, database_pool_size=POOL_SIZE) as purses:
        corridor = Corridor(purses, await purses.agent("1000"))
        async with fault_stage(purses.registry, corridor) as stage:
            yield stage


@pytest.mark.parametrize("name", STEPS)
async def test_whichever_statement_fails_nothing_has_changed_and_the_step_is_done_once(
    name: str, stage: FaultStage[Corridor]
) -> None:
    await stage.fail_each((STEPS[name], {200}))
    await stage.world.purses.prove()
    totals = await stage.world.purses.registry.database.read(ledger.corridor_totals)
    assert [one.frame for one in totals if one.delta] == []
