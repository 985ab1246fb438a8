"""Transfers between serving registries, over mutual TLS through a proxy that disturbs, while any of them is killed hard.

Whatever happens: the books agree, no transfer is credited twice, and none is both credited and refunded.
"""

import asyncio
from collections.abc import AsyncIterator
from itertools import product
from random import Random

import httpx2
import pytest

from tests.operation.crossing_sides import SENDERS, Crossing, Side, crossing_registries
from tests.operation.held_steps import RESERVE, STEPS, Step, held, is_done
from tests.operation.registry_process import until_async
from tests.properties.scale import by_tier, printed_seed
from tests.registry import DatabaseFarm

REGISTRIES = by_tier("ab", "abc", "abc")
ROUNDS = by_tier(2, 300, 300)
MOMENT_SECONDS = (0.0, 0.4)
TROUBLES = ("cut", "freeze", "delay", "double", "kill the sender", "kill the receiver")
KILLS = by_tier(
    [("commit", "after"), ("credit", "before")],
    list(product(STEPS, ("before", "after"))),
    list(product(STEPS, ("before", "after"))),
)


@pytest.fixture(scope="module")
async def crossing(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Crossing]:
    """One set of registries for all of them: a crossing that one test leaves undecided is decided by the next one."""
    async with crossing_registries(
        database_farm, tmp_path_factory.mktemp("crossing"), REGISTRIES
    ) as crossing:
        yield crossing


@pytest.mark.parametrize(("step", "when"), KILLS)
async def test_a_registry_killed_before_or_after_the_commit_of_a_step_credits_once_or_returns_the_units(
    crossing: Crossing, step: str, when: str
) -> None:
    kill = _kill_before if when == "before" else _kill_after
    async with httpx2.AsyncClient(timeout=60, trust_env=False) as http:
        await kill(crossing, http, STEPS[step])
    await crossing.heal()
    await crossing.prove()


async def _kill_before(crossing: Crossing, http: httpx2.AsyncClient, step: Step) -> None:
    """The step is written, its commit is not."""
    killed = _side(crossing, step)
    async with held(killed, step) as hold:
        sending = asyncio.ensure_future(crossing.send(http, crossing.a, crossing.b, 0))
        await hold.reached()
        await killed.process.kill()
        await hold.break_off()
    await killed.process.start()
    await sending


async def _kill_after(crossing: Crossing, http: httpx2.AsyncClient, step: Step) -> None:
    """The step is committed, and nothing that follows from it has left the registry."""
    killed, proxy, payer = _side(crossing, step), crossing.b.proxy, crossing.a.agents[0]
    silenced = "freeze requests" if step.by == "sender" else "freeze answers"
    if step is RESERVE:
        proxy.meet(silenced)
        sending = asyncio.ensure_future(crossing.send(http, crossing.a, crossing.b, 0))
    else:
        # Until here everything passes; the step itself, or the one that it follows, is the last.
        async with held(crossing.b, step.follows or step) as hold:
            sending = asyncio.ensure_future(crossing.send(http, crossing.a, crossing.b, 0))
            await hold.reached()
            proxy.meet(silenced)
    await until_async(lambda: is_done(killed, step, payer.did))
    await killed.process.kill()
    proxy.ease()
    await killed.process.start()
    await sending


def _side(crossing: Crossing, step: Step) -> Side:
    return crossing.a if step.by == "sender" else crossing.b


async def test_whatever_is_cut_frozen_delayed_doubled_or_killed_the_books_agree_and_nothing_crosses_twice(
    crossing: Crossing,
) -> None:
    random = Random(printed_seed())
    for number in range(ROUNDS):
        await play(crossing, random)
        if number % 10 == 9:
            await crossing.heal()
    await crossing.heal()
    await crossing.prove()
    assert crossing.acknowledged


async def play(crossing: Crossing, random: Random) -> None:
    """Some transfers in each direction, and one disturbance in their midst."""
    error = random.choice(TROUBLES)
    sender, receiver = random.sample(crossing.sides, 2)
    async with httpx2.AsyncClient(timeout=60, trust_env=False) as http:
        sending = asyncio.gather(
            *(crossing.send(http, sender, receiver, random.randrange(SENDERS)) for _ in range(SENDERS)),
            *(crossing.send(http, receiver, sender, random.randrange(SENDERS)) for _ in range(2)),
        )
        # The moment is drawn: no step of the protocol is waited for.
        await asyncio.sleep(random.uniform(*MOMENT_SECONDS))
        if error.startswith("kill"):
            killed = sender if error == "kill the sender" else receiver
            await killed.process.kill()
            await killed.process.start()
        else:
            receiver.proxy.meet(error, random.randrange(4000))
            await asyncio.sleep(random.uniform(*MOMENT_SECONDS))
            receiver.proxy.ease()
        await sending
