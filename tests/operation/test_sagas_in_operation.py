"""Swaps, the bridge and slashes between two serving registries, while either is killed hard in their midst or at a step.

In every case both books agree, wrapped units equal the locked ones, the pool is the same on both sides, a slash is applied once.
"""

import asyncio
from collections.abc import AsyncIterator
from random import Random

import httpx2
import pytest

from tests.operation.held_steps import Held, held
from tests.operation.saga_sides import Sagas, saga_registries
from tests.operation.saga_steps import SAGA_STEPS, all_kills
from tests.properties.scale import TIER, by_tier, printed_seed
from tests.registry import DatabaseFarm

ROUNDS = by_tier(1, 200, 200)
KILLS = by_tier([("wrap", "decide", "after")], all_kills(), all_kills())
MOMENT_SECONDS = (0.0, 0.6)
STEPS = {
    "swap reserved",
    "swap committed",
    "swap in prepared",
    "bridge MINT_REQUESTED",
    "bridge UNLOCK_REQUESTED",
    "slash outgoing PENDING_SLASH",
    "slash incoming SLASHED",
}
"""What a kill interrupts sooner or later."""


@pytest.fixture(scope="module")
async def sagas(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Sagas]:
    """One pair for all of them: a saga that one test leaves undecided is decided by the next one."""
    async with saga_registries(database_farm, tmp_path_factory.mktemp("sagas")) as sagas:
        yield sagas


@pytest.mark.parametrize(("saga", "step", "when"), KILLS)
async def test_a_registry_killed_at_a_step_of_a_saga_leaves_it_to_end_alike_on_both_sides(
    sagas: Sagas, saga: str, step: str, when: str
) -> None:
    steps = SAGA_STEPS[saga]
    killed = sagas.a if steps[step].by == "sender" else sagas.b
    names = list(steps)
    awaited = steps[step if when == "before" else names[names.index(step) + 1]]
    if saga == "redeem":
        await sagas.let_hold_wrapped()
    async with httpx2.AsyncClient(timeout=60, trust_env=False) as http:
        async with held(sagas.a if awaited.by == "sender" else sagas.b, awaited) as hold:
            beginning = asyncio.ensure_future(sagas.begin(http, saga))
            await _reached(sagas, hold)
            await killed.process.kill()
            if when == "before":
                await hold.break_off()
        await killed.process.start()
        await beginning
    await sagas.heal()
    await sagas.prove()


async def _reached(sagas: Sagas, hold: Held) -> None:
    """Whatever waits for an administrator is approved, until the step is reached."""
    reaching = asyncio.ensure_future(hold.reached())
    while not reaching.done():
        await sagas.approve()
        await asyncio.wait([reaching], timeout=0.1)
    await reaching


async def test_whoever_is_killed_at_whichever_moment_swaps_bridges_and_slashes_end_alike_on_both_sides(
    sagas: Sagas,
) -> None:
    random = Random(printed_seed())
    for number in range(ROUNDS):
        await play(sagas, random)
        if number % 10 == 9:
            await sagas.heal()
    await sagas.heal()
    await sagas.prove()
    print(f"interrupted: {sorted(sagas.interrupted)}")
    if TIER:
        assert sagas.interrupted >= STEPS


async def play(sagas: Sagas, random: Random) -> None:
    """Some of each, in both directions, and a kill in their midst."""
    killed = random.choice((sagas.a, sagas.b)).process
    first, second, third = random.sample(range(6), 3)
    async with httpx2.AsyncClient(timeout=60, trust_env=False) as http:
        acts = [sagas.slash(first)]
        for one, other, unit in ((sagas.a, sagas.b, "BOB.b.example"), (sagas.b, sagas.a, "ARA.a.example")):
            to = other.agents[second].did
            swap = {"receiver_did": to, "amount": "0.5", "min_amount_out": "0.00000001"}
            acts.append(sagas.ask(http, one, first, "/teg/send", swap))
            acts.append(
                sagas.ask(http, one, third, "/bridge/transfer", {"receiver_did": to, "amount": "0.2"})
            )
            redemption = {"wrapped_currency": unit, "amount": "0.1", "receiver_did": to}
            acts.append(sagas.ask(http, one, second, "/bridge/redeem", redemption))
        under_way = asyncio.gather(*acts, sagas.approve())
        # The moment is drawn: no step of a saga is waited for.
        await asyncio.sleep(random.uniform(*MOMENT_SECONDS))
        await killed.kill()
        await sagas.note_interrupted()
        await killed.start()
        await under_way
