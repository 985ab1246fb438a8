"""More requests than the database takes: each is answered, in the worst case with when to come back."""

import asyncio
from collections import Counter
from pathlib import Path

import asyncpg
import httpx2
import pytest

from hansa.foundation.plumbing.storage.embedded import EmbeddedPostgres
from tests.operation.conftest import Launch
from tests.operation.history import History, Outcome, read_history
from tests.operation.nothing_lost import find_what_is_wrong, rude_answers
from tests.operation.registry_process import RegistryProcess, health, until
from tests.operation.storm import Storm
from tests.properties.scale import by_tier

SEED = 11
CLIENTS = by_tier(150, 300, 300)
READERS = by_tier(150, 300, 300)


@pytest.fixture
async def narrow(operated: Launch) -> RegistryProcess:
    """A registry that has two connections to its database, started."""
    made = operated(DATABASE_POOL_SIZE="2", TRUSTED_PROXIES="127.0.0.1", RATE_LIMIT_READS="off")
    await made.start()
    return made


async def test_nothing_is_lost_and_nobody_meets_a_500_when_the_database_is_stuck_under_hundreds_of_clients(
    narrow: RegistryProcess, tmp_path: Path
):
    history = History(tmp_path / "history.jsonl")
    storm = Storm(narrow.url, history, SEED, clients=CLIENTS, agents=8)
    await storm.gather()
    blocker = await asyncpg.connect(await narrow.database())
    storm.rage()
    async with blocker.transaction():
        await blocker.execute("LOCK TABLE ledger_account")
        await until(lambda: history.path.read_text().count('"status": 503') >= CLIENTS // 3)
    await blocker.close()
    await storm.calm()
    assert await health(narrow.url) == 200
    operations = read_history(history.path)
    await storm.settle([operation for operation in operations if operation.outcome is Outcome.UNKNOWN])
    await storm.close()
    history.close()
    assert (await narrow.stop()).code == 0

    settled = read_history(history.path)
    postgres = EmbeddedPostgres(narrow.data_dir)
    connection = await asyncpg.connect(await postgres.start())
    findings = await find_what_is_wrong(connection, settled)
    await connection.close()
    await postgres.stop()
    assert findings == []
    assert rude_answers(settled) == []
    statuses = Counter(
        attempt.answer.status if attempt.answer else None for one in settled for attempt in one.attempts
    )
    assert statuses[None] == 0, "every request is answered"
    print(f"answers by status: {dict(statuses)}")


async def test_hundreds_of_readers_at_once_are_all_answered(narrow: RegistryProcess):
    async with httpx2.AsyncClient(
        base_url=narrow.url, trust_env=False, timeout=60, limits=httpx2.Limits(max_connections=None)
    ) as http:
        paths = ["/api/v1/public/supply-invariant", "/health", "/api/v1/agents/me"] * (READERS // 3)
        answers = await asyncio.gather(*(http.get(path) for path in paths))
    assert {answer.status_code for answer in answers} <= {200, 401, 503}
    assert all("retry-after" in answer.headers for answer in answers if answer.status_code == 503)
    assert await health(narrow.url) == 200
