"""A statement that is cancelled leaves its connection as good as new, at whatever step that happens."""

import asyncio
import time

import pytest

from hansa.foundation.plumbing.storage.database import Database, Tx
from tests.registry import DatabaseFarm

STEPS = 16
# So long the server takes to answer the message of a step; the event loop has not read the answer by then.
ANSWER_SECONDS = 0.005


async def cancelled_after(database: Database, steps: int, *, through: str) -> None:
    """Cancel a statement that was never prepared before, some steps of the event loop after its start."""

    async def statement(tx: Tx) -> int:
        return await tx.fetchval(f"SELECT {steps} FROM pg_class LIMIT 1")

    task: asyncio.Task[int] = asyncio.ensure_future(getattr(database, through)(statement))
    for _ in range(steps):
        await asyncio.sleep(0)
    time.sleep(ANSWER_SECONDS)  # noqa: ASYNC251
    task.cancel()
    await asyncio.wait([task])


@pytest.mark.parametrize("through", ["query", "execute", "transaction", "read"])
async def test_the_next_reader_of_the_connection_of_a_cancelled_statement_gets_its_answer(
    database_farm: DatabaseFarm, through: str
):
    database = Database(await database_farm.fresh(), pool_size=1)
    await database.open()
    try:
        for steps in range(STEPS):
            await cancelled_after(database, steps, through=through)
            assert await database.read(lambda tx: tx.fetchval("SELECT 1")) == 1, steps
    finally:
        await database.close()
