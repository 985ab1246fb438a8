"""A run of twenty steps against real services, while three processes are killed at drawn points: it ends right, and the books are exact."""

import asyncio
import os
import random
import signal
from collections.abc import AsyncIterator

import pytest

from tests.hostile.served import serve
from tests.pipelines import Market, open_market, statuses, step, text_of
from tests.properties.scale import printed_seed
from tests.registry import StartRegistry
from tests.running_jobs import time_passes

STEPS, KILLS = 20, 3
# Longer than a lease, and than the time after which the token of a dead process ends.
LATER_SECONDS = 120


@pytest.fixture
async def market(start_registry: StartRegistry) -> AsyncIterator[Market]:
    async with open_market(start_registry, works=False, rate_limit_reads="off") as opened:
        yield opened


async def test_a_run_of_twenty_steps_ends_right_although_three_processes_are_killed(market: Market) -> None:
    agents = [await market.sells(f"agent-{number}", str) for number in range(4)]
    steps = [
        step(
            f"s{number}",
            agents[number % 4],
            f"{{{{/steps/s{number - 4}/output/text}}}}+" if number >= 4 else "{{/input/text}}",
            needs=[f"s{number - 4}"] if number >= 4 else [],
            attempts=5,
            timeout_seconds=5,
        )
        for number in range(STEPS)
    ]
    run = await market.started(await market.created(*steps, budget="20"), {"text": "x"})
    draw = random.Random(printed_seed())
    for _ in range(KILLS):
        # While so many further calls are asked; the calls of four steps at once are answered or not.
        market.hangs_after = len(market.asked) + draw.randint(1, 5)
        pause = draw.choice([0.0, 0.0, 0.01, 0.03, 0.1, 0.3])
        async with serve(market.registry, OUTGOING_ALLOW_USER_HOSTS=market.place) as served:
            await market.hanging.wait()
            # Answers of calls before are read, and their tokens settled, at this moment.
            await asyncio.sleep(pause)
            os.kill(served.pid, signal.SIGKILL)
        market.go_on()
        await time_passes(market.registry.runtime, LATER_SECONDS)
    async with serve(market.registry, OUTGOING_ALLOW_USER_HOSTS=market.place):
        async with asyncio.timeout(120):
            while (shown := await market.read(run))["status"] == "running":  # noqa: ASYNC110
                await asyncio.sleep(0.2)
    assert (shown["status"], set(statuses(shown).values())) == ("succeeded", {"succeeded"})
    assert [text_of(shown, f"s{number}") for number in range(16, 20)] == ["x++++"] * 4
    assert (shown["spent"], shown["open"]) == ("20", "0")
    attempts = [one for each in shown["steps"] for one in each["attempts"]]
    assert len([one for one in attempts if one["status"] == "settled"]) == STEPS
    assert {one["status"] for one in attempts} == {"settled", "released"}
    assert await market.buyer.balance() == "79.9"
    await market.books_are_exact()
