"""A served registry computes the scores of each day by itself, once, however many processes serve it."""

import asyncio
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta

import httpx2

from tests.hostile.served import serve
from tests.paying import Payments
from tests.registry import StartRegistry
from tests.rooms.reputation.rated import Rated
from tests.running_jobs import time_passes

WITHIN_SECONDS = 120

_YESTERDAY = """
WITH signals AS (UPDATE reputation_signal SET at = at - interval '1 day'),
  scores AS (UPDATE reputation_score SET epoch = epoch - 1)
UPDATE reputation_epoch SET epoch = epoch - 1
"""


async def test_a_served_registry_computes_an_epoch_for_each_day_once(start_registry: StartRegistry) -> None:
    registry = await start_registry(rate_limit_reads="off")
    payments = await Payments.between_two(registry)
    # Units that are no genesis grant: a job paid with grants alone does not count.
    await Rated(registry).fund(payments.caller, "60")
    made = await payments.authorized("50")
    assert (await payments.settle(made["token"], wait=10)).json()["status"] == "settled"

    async def count(table: str) -> int:
        return int(await registry.database.query(lambda tx: tx.fetchval(f"SELECT count(*) FROM {table}")))

    async def becomes(table: str, rows: int) -> None:
        async with asyncio.timeout(WITHIN_SECONDS):
            while await count(table) < rows:  # noqa: ASYNC110
                await asyncio.sleep(0.05)

    async with AsyncExitStack() as stack, httpx2.AsyncClient(timeout=60) as http:
        first, _ = [await stack.enter_async_context(serve(registry)) for _ in range(2)]
        await becomes("reputation_signal", 1)
        await becomes("reputation_epoch", 1)
        for days in (2, 3):
            await registry.database.transaction(lambda tx: tx.execute(_YESTERDAY))
            await time_passes(registry.runtime, 20)
            await becomes("reputation_epoch", days)
        answer = await http.get(f"{first.url}/api/v1/agents/{payments.service.did}/reputation")
        await time_passes(registry.runtime, 20)
        await time_passes(registry.runtime, 20)
    today = datetime.now(UTC).date()
    assert answer.json()["epoch"] in {str(today), str(today - timedelta(days=1))}
    assert answer.json()["grade"] == "initial"
    assert await count("reputation_epoch") == 3
