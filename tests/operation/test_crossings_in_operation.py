"""Transfers between two serving registries, over mutual TLS through a proxy that disturbs, while either is killed hard.

Whatever happens: both books agree, no transfer is credited twice, and none is both credited and refunded.
"""

import asyncio
from pathlib import Path
from random import Random

import httpx2

from tests.operation.crossing_sides import SENDERS, Crossing, crossing_registries
from tests.properties.scale import by_tier, printed_seed
from tests.registry import DatabaseFarm

ROUNDS = by_tier(3, 300, 300)
MOMENT_SECONDS = (0.0, 0.4)
TROUBLES = ("cut", "freeze", "delay", "double", "kill the sender", "kill the receiver")


async def test_whatever_is_cut_frozen_delayed_doubled_or_killed_both_books_agree_and_nothing_crosses_twice(
    database_farm: DatabaseFarm, tmp_path: Path
) -> None:
    random = Random(printed_seed())
    async with crossing_registries(database_farm, tmp_path) as crossing:
        for number in range(ROUNDS):
            await play(crossing, random)
            if number % 10 == 9:
                await crossing.heal()
        await crossing.heal()
        await crossing.prove()
        assert crossing.acknowledged


async def play(crossing: Crossing, random: Random) -> None:
    """Some transfers each way, and one trouble in their midst."""
    trouble = random.choice(TROUBLES)
    sender, receiver = random.sample((crossing.a, crossing.b), 2)
    async with httpx2.AsyncClient(timeout=30, trust_env=False) as http:
        sending = asyncio.gather(
            *(crossing.send(http, sender, receiver, random.randrange(SENDERS)) for _ in range(SENDERS)),
            *(crossing.send(http, receiver, sender, random.randrange(SENDERS)) for _ in range(2)),
        )
        # The moment is drawn: no step of the protocol is waited for.
        await asyncio.sleep(random.uniform(*MOMENT_SECONDS))
        if trouble.startswith("kill"):
            killed = sender if trouble == "kill the sender" else receiver
            await killed.process.kill()
            await killed.process.start()
        else:
            receiver.proxy.meet(trouble, random.randrange(4000))
            await asyncio.sleep(random.uniform(*MOMENT_SECONDS))
            receiver.proxy.ease()
        await sending
