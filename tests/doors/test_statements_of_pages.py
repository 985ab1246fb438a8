"""Pages read in batches: each makes a few statements, however much it shows."""

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.console_pages import furnish, pages_of
from tests.hostile.well_formed import EVERYTHING_ON, Stage
from tests.registry import StartRegistry, TestRegistry

STATEMENTS_MAX = 6
# The idle time of a session begins again once a minute, with whatever page is opened then.
BOUNDS = ("BEGIN", "COMMIT", "ROLLBACK", "SET ", "UPDATE PEOPLE_SESSION SET CONTINUED_AT")


@pytest.fixture
async def stage(start_registry: StartRegistry) -> Stage:
    # A lease of the limit is another statement, on one page in a hundred.
    return await furnish(await start_registry(**EVERYTHING_ON, rate_limit_reads="off"))


@asynccontextmanager
async def counted(registry: TestRegistry, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[list[str]]:
    """The statements of all transactions from now on, without those that begin and end one."""
    made: list[str] = []
    database = registry.runtime.database
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
    numbers: Counter[str] = Counter()
    async for page, browser in pages_of(stage):
        async with counted(stage.registry, monkeypatch) as made:
            answer = await browser.http.get(page.address)
        assert answer.status_code == 200, page
        numbers[page.operation] = sum(not one.lstrip().upper().startswith(BOUNDS) for one in made)
    assert len(numbers) > 100
    assert {name: number for name, number in numbers.items() if number > STATEMENTS_MAX} == {}
