"""Swaps, the bridge and slashes between two serving registries, while either is killed hard in their midst.

Whatever happens: both books agree, wrapped units are what is locked, the pool is the same on both sides, a slash is applied once.
"""

import asyncio
from pathlib import Path
from random import Random

import httpx2

from tests.operation.saga_sides import Sagas, saga_registries
from tests.properties.scale import TIER, by_tier, printed_seed
from tests.registry import DatabaseFarm

ROUNDS = by_tier(2, 200, 200)
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


async def test_whoever_is_killed_at_whichever_step_swaps_bridges_and_slashes_end_alike_on_both_sides(
    database_farm: DatabaseFarm, tmp_path: Path
) -> None:
    random = Random(printed_seed())
    async with saga_registries(database_farm, tmp_path) as sagas:
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
    async with httpx2.AsyncClient(timeout=30, trust_env=False) as http:
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
