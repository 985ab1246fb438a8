"""Pages read in batches: each makes a few statements, however much it shows."""

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.browsing import BrowserOf
from tests.hostile.well_formed import EVERYTHING_ON, Stage, set_stage, well_formed
from tests.house.rights import read_rights
from tests.registry import StartRegistry

STATEMENTS_MAX = 9
# Pages that ask several rooms, or each own agent for what it still holds.
MORE = {
    "GET /administration": 24,
    "GET /account/deletion": 30,
    "GET /account/call": 11,
    # The proof: leaves and paths in the tree, the attestation, and its place in the log.
    "GET /account/agents/{did}/wallet/proof": 18,
    "GET /account/agents/{did}/disputes/{dispute_id:int}": 11,
}
BOUNDS = ("BEGIN", "COMMIT", "ROLLBACK", "SET ")


@pytest.fixture
async def stage(start_registry: StartRegistry) -> Stage:
    return await set_stage(await start_registry(**EVERYTHING_ON))


@asynccontextmanager
async def counted(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[list[str]]:
    """The statements of all transactions from now on, without those that begin and end one."""
    made: list[str] = []
    database = stage.registry.runtime.database
    connection_of = database._connection

    @asynccontextmanager
    async def logged() -> AsyncIterator[Any]:
        async with connection_of() as connection:
            log = lambda record: made.append(record.query)  # noqa: E731
            connection.add_query_logger(log)
            try:
                yield connection
            finally:
                connection.remove_query_logger(log)

    monkeypatch.setattr(database, "_connection", logged)
    yield made
    monkeypatch.setattr(database, "_connection", connection_of)


async def test_no_page_makes_more_statements_than_it_may(stage: Stage, monkeypatch: pytest.MonkeyPatch):
    readers = {
        "GET /account": await BrowserOf(stage.registry).log_in(stage.developer.email),
        "GET /administration": await BrowserOf(stage.registry).log_in(stage.administrator.email),
    }
    numbers: Counter[str] = Counter()
    for row in read_rights():
        browser = next((one for start, one in readers.items() if row.operation.startswith(start)), None)
        if browser is None:
            continue
        request = await well_formed(row.operation, stage)
        await browser.http.get(request.path, params=request.query or None)
        async with counted(stage, monkeypatch) as made:
            answer = await browser.http.get(request.path, params=request.query or None)
        if answer.status_code == 200 and answer.headers["content-type"].startswith("text/html"):
            numbers[row.operation] = sum(not one.lstrip().upper().startswith(BOUNDS) for one in made)
    assert len(numbers) > 50
    allowed = {name: MORE.get(name, STATEMENTS_MAX) for name in numbers}
    assert {name: number for name, number in numbers.items() if number > allowed[name]} == {}
