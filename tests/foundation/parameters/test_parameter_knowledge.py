"""Knowledge of a process of governed values: complete before its end, and replaced by the table from then on."""

import asyncio
from datetime import timedelta

import pytest

from hansa.foundation.plumbing import parameters
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.settings import Knowledge
from hansa.foundation.plumbing.storage.clock import now
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import format_amount, parse_amount
from hansa.rooms import ledger
from tests.governed_values import changed, reached, scheduled, time_passed
from tests.registry import TestAgent, TestRegistry, another_process

FEE = "fee_base_rate_percent"
WAITS = "SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted)"


@pytest.fixture
async def payers(registry: TestRegistry) -> tuple[TestAgent, TestAgent]:
    return await registry.agent(), await registry.agent()


async def fee_in_batch(process: Runtime, payers: tuple[TestAgent, TestAgent]) -> str:
    payer, payee = (agent.did for agent in payers)
    order = ledger.TransferOrder(payer, payee, parse_amount("10"))
    answer = await ledger.GROUP_COMMIT.of(process).transfer(order, None, lambda made: format_amount(made.fee))
    return answer.text


async def test_knowledge_ends_before_a_change_that_it_lacks_can_take_effect(registry: TestRegistry):
    process = another_process(registry.runtime)
    before = await registry.database.query(now)
    await parameters.FOLLOWER.of(process).read()
    until = process.settings.governed.knowledge.until
    assert before + timedelta(seconds=50) < until
    assert until < await scheduled(registry.database, registry.settings, {FEE: ("0.5", "1")}, "proposal:1")


async def test_a_reader_waits_for_a_decision_under_way_and_learns_of_it(registry: TestRegistry):
    process = another_process(registry.runtime)
    diff = parameters.diff_of({FEE: {"from": "0.5", "to": "1"}})

    async def decide(tx: Tx) -> None:
        await parameters.schedule(tx, registry.settings, diff, await now(tx), "proposal:1")
        reading.append(asyncio.create_task(parameters.FOLLOWER.of(process).read()))
        while not await tx.fetchval(WAITS):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        assert not reading[0].done()

    reading: list[asyncio.Task[None]] = []
    await registry.database.transaction(decide)
    await reading[0]
    [turn] = process.settings.governed.knowledge.turns
    assert (turn.name, turn.value) == (FEE, "1")


async def test_older_knowledge_does_not_replace_newer(registry: TestRegistry):
    process = another_process(registry.runtime)
    await parameters.FOLLOWER.of(process).read()
    newest = process.settings.governed.knowledge
    process.settings.governed.learn(Knowledge((), newest.until - timedelta(seconds=1)))
    assert process.settings.governed.knowledge is newest


async def test_a_process_whose_knowledge_has_ended_uses_the_new_value(
    registry: TestRegistry, payers: tuple[TestAgent, TestAgent]
):
    process = another_process(registry.runtime)
    process.settings.governed.learn(
        Knowledge((), await registry.database.query(now) + timedelta(seconds=0.5))
    )
    assert await fee_in_batch(process, payers) == "0.05"
    await changed(registry.database, registry.settings, {FEE: ("0.5", "2")})
    await reached(registry.database, process.settings.governed.knowledge.until)
    assert await fee_in_batch(process, payers) == "0.2"
    in_force = await registry.database.query(lambda tx: parameters.in_force(tx, process.settings))
    assert in_force.fee_base_rate_percent == "2"


async def test_a_process_that_knows_a_change_before_uses_it_from_its_moment_on_without_reading_again(
    registry: TestRegistry, payers: tuple[TestAgent, TestAgent]
):
    process = another_process(registry.runtime)
    moment = await scheduled(registry.database, registry.settings, {FEE: ("0.5", "2")}, "proposal:1")
    ahead = moment - await registry.database.query(now) - timedelta(seconds=0.5)
    await time_passed(registry.database, ahead)
    await parameters.FOLLOWER.of(process).read()
    assert await fee_in_batch(process, payers) == "0.05"
    # Nothing is left in the table: the process uses the knowledge that it holds.
    await registry.database.transaction(lambda tx: tx.execute("DELETE FROM plumbing_parameter"))
    await reached(registry.database, moment - ahead)
    assert await fee_in_batch(process, payers) == "0.2"


async def test_a_transaction_that_began_before_the_moment_uses_the_former_value_after_it(
    registry: TestRegistry, payers: tuple[TestAgent, TestAgent]
):
    payer, payee = (agent.did for agent in payers)
    order = ledger.TransferOrder(payer, payee, parse_amount("10"))

    async def over_the_moment(tx: Tx) -> tuple[str, str]:
        await tx.fetchval("SELECT now()")
        moment = await scheduled(registry.database, registry.settings, {FEE: ("0.5", "2")}, "proposal:1")
        await time_passed(registry.database, moment - await registry.database.query(now))
        receipt = await ledger.transfer(tx, order, ledger.Book.of(registry.settings))
        in_force = await parameters.in_force(tx, registry.settings)
        return format_amount(receipt.fee), in_force.fee_base_rate_percent

    assert await registry.database.transaction(over_the_moment) == ("0.05", "0.5")
    assert await fee_in_batch(another_process(registry.runtime), payers) == "0.2"
