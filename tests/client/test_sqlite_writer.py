"""Uses of a local file that a coroutine awaits."""

import asyncio
import sqlite3
import threading
from pathlib import Path

import pytest

from hansa_client.sqlite_writer import SqliteWriter, awaited


class Held:
    """A use that goes on until its gate is opened."""

    def __init__(self) -> None:
        self.has_begun, self.gate = threading.Event(), threading.Event()

    def use(self, _: sqlite3.Connection) -> bool:
        self.has_begun.set()
        return self.gate.wait(60)


@pytest.fixture
def writer(tmp_path: Path):
    opened = SqliteWriter(tmp_path / "file.db")
    opened.open()
    yield opened
    opened.close()


async def test_what_a_use_returned_or_raised_is_awaited(writer: SqliteWriter):
    assert await awaited(writer.submit(lambda connection: connection.execute("SELECT 7").fetchone()), 60) == (
        7,
    )
    with pytest.raises(sqlite3.OperationalError):
        await awaited(writer.submit(lambda connection: connection.execute("SELECT no_such_column")), 60)


async def test_a_use_that_has_not_begun_in_time_never_runs(writer: SqliteWriter):
    held, ran = Held(), []
    first = writer.submit(held.use)
    await asyncio.to_thread(held.has_begun.wait, 60)
    try:
        with pytest.raises(TimeoutError):
            await awaited(writer.submit(lambda _: ran.append("late")), 0.05)
    finally:
        held.gate.set()
    await awaited(first, 60)
    await awaited(writer.submit(lambda _: ran.append("next")), 60)
    assert ran == ["next"]


async def test_a_cancelled_wait_leaves_the_writer_at_work(writer: SqliteWriter):
    held = Held()
    waiting = asyncio.create_task(awaited(writer.submit(held.use), 60))
    await asyncio.to_thread(held.has_begun.wait, 60)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    held.gate.set()
    assert await awaited(writer.submit(lambda _: "next"), 60) == "next"
