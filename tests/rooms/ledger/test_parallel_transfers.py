"""Many transfers at the same moment."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from decimal import Decimal
from pathlib import Path

import pytest

from tests.properties.scale import by_tier, printed_seed
from tests.registry import DatabaseFarm, TestAgent, TestRegistry, at_once, open_registry
from tests.rooms.ledger.purses import Purses, open_purses

WRITERS = 64


@pytest.fixture(scope="module")
async def purses(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Purses]:
    async with open_purses(database_farm, tmp_path_factory.mktemp("parallel")) as purses:
        yield purses
        await purses.prove()


async def test_sixty_four_writers_never_draw_more_than_the_balance(purses: Purses) -> None:
    payer = await purses.agent("100")
    payees = [await purses.agent() for _ in range(8)]
    answers = await at_once(*(payer.transfer(payees[number % 8], "10") for number in range(WRITERS)))
    assert Counter(answer.status_code for answer in answers) == {200: 9, 402: WRITERS - 9}
    assert await payer.balance() == "9.55"
    assert sum([Decimal(await payee.balance()) for payee in payees]) == 90


async def test_the_balances_returned_in_parallel_are_the_steps_of_one_order(purses: Purses) -> None:
    payer, payee = await purses.agent("100"), await purses.agent()
    answers = await at_once(*(payer.transfer(payee, "1") for _ in range(20)))
    returned = {Decimal(answer.json()["new_sender_balance"]) for answer in answers}
    assert returned == {100 - Decimal("1.005") * step for step in range(1, 21)}


async def test_a_storm_of_opposite_transfers_is_carried_out_whole(purses: Purses) -> None:
    alice, bob, carol = [await purses.agent("1000") for _ in range(3)]
    pairs = [(alice, bob), (bob, alice), (bob, carol), (carol, bob), (carol, alice), (alice, carol)]
    storm = [payer.transfer(payee, "0.5") for payer, payee in pairs for _ in range(by_tier(20, 200, 2000))]
    random.Random(printed_seed()).shuffle(storm)
    answers = await at_once(*storm)
    assert {answer.status_code for answer in answers} == {200}


async def test_processes_that_share_a_database_never_draw_more_than_the_balance(
    purses: Purses, tmp_path: Path
) -> None:
    payer, other = await purses.agent("100"), await purses.agent("100")
    async with AsyncExitStack() as stack:
        processes = [
            purses.registry,
            *[await stack.enter_async_context(twin_of(purses.registry)) for _ in range(2)],
        ]
        orders = [order for _ in range(WRITERS // 2) for order in ((payer, other), (other, payer))]
        answers = await at_once(
            *(
                on(processes[number % 3], agent).transfer(payee, "30")
                for number, (agent, payee) in enumerate(orders)
            )
        )
    assert {answer.status_code for answer in answers} <= {200, 402}
    await purses.prove()


async def test_sixty_four_orders_with_one_key_are_one_transfer(purses: Purses) -> None:
    payer, payee = await purses.agent("100"), await purses.agent()
    answers = await at_once(*(payer.transfer(payee, "1", key="one-order") for _ in range(WRITERS)))
    assert await payee.balance() == "1"
    assert {answer.status_code for answer in answers} <= {200, 422}
    assert len({answer.text for answer in answers if answer.status_code == 200}) == 1


async def test_one_key_on_several_processes_is_one_transfer(purses: Purses) -> None:
    payer, payee = await purses.agent("100"), await purses.agent()
    async with AsyncExitStack() as stack:
        processes = [
            purses.registry,
            *[await stack.enter_async_context(twin_of(purses.registry)) for _ in range(2)],
        ]
        for number in range(10):
            answers = await at_once(
                *(on(process, payer).transfer(payee, "1", key=f"order-{number}") for process in processes * 2)
            )
            assert {answer.status_code for answer in answers} <= {200, 422}
            assert len({answer.text for answer in answers if answer.status_code == 200}) == 1
    assert await payee.balance() == "10"


async def test_the_refusal_of_one_transfer_leaves_its_neighbours_alone(purses: Purses) -> None:
    payer, payee, poor = await purses.agent("100"), await purses.agent(), await purses.agent()
    answers = await at_once(
        payer.transfer(payee, "1"),
        poor.transfer(payee, "1"),
        payer.transfer(payer, "1"),
        payer.transfer("did:hansa:hansa.local:nobody", "1"),
        payer.transfer(payee, "2"),
    )
    assert [answer.status_code for answer in answers] == [200, 402, 400, 404, 200]


async def test_a_client_that_goes_away_does_not_stop_the_transfers_beside_its_own(purses: Purses) -> None:
    payer, payee = await purses.agent("100"), await purses.agent()
    leaving = [asyncio.create_task(payer.transfer(payee, "1", key=f"left-{number}")) for number in range(8)]
    staying = [asyncio.create_task(payer.transfer(payee, "1")) for _ in range(8)]
    for task in leaving:
        await asyncio.sleep(0)
        task.cancel()
    await asyncio.gather(*leaving, return_exceptions=True)
    assert {answer.status_code for answer in await asyncio.gather(*staying)} == {200}
    repeated = await at_once(*(payer.transfer(payee, "1", key=f"left-{number}") for number in range(8)))
    assert {answer.status_code for answer in repeated} == {200}
    assert await payee.balance() == "16"


def twin_of(registry: TestRegistry) -> AbstractAsyncContextManager[TestRegistry]:
    """Another process of the same registry."""
    return open_registry(
        registry.database.dsn, registry.settings.data_dir, genesis_grant_enabled=False, rate_limit_reads="off"
    )


def on(registry: TestRegistry, agent: TestAgent) -> TestAgent:
    """The same agent, speaking to another process."""
    return TestAgent(registry, agent.did, agent.token, agent.created)
