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


async def test_of_uses_that_are_committed_together_one_that_raises_changes_nothing(writer: SqliteWriter):
    await awaited(writer.submit(lambda connection: connection.execute("CREATE TABLE note (text TEXT)")), 60)

    def fail_after_writing(connection: sqlite3.Connection) -> None:
        connection.execute("INSERT INTO note VALUES ('undone')")
        raise ValueError("after writing")

    held = Held()
    first = writer.submit(held.use)
    await asyncio.to_thread(held.has_begun.wait, 60)
    together = [
        writer.submit(lambda connection: connection.execute("INSERT INTO note VALUES ('one')").rowcount),
        writer.submit(fail_after_writing),
        writer.submit(lambda connection: connection.execute("INSERT INTO note VALUES ('two')").rowcount),
    ]
    held.gate.set()
    await awaited(first, 60)
    assert [await awaited(together[0], 60), await awaited(together[2], 60)] == [1, 1]
    with pytest.raises(ValueError, match="after writing"):
        await awaited(together[1], 60)
    notes = writer.submit(lambda connection: connection.execute("SELECT text FROM note").fetchall())
    assert await awaited(notes, 60) == [("one",), ("two",)]


async def test_only_a_durable_use_waits_for_the_disk_and_those_committed_with_it(writer: SqliteWriter):
    def synchronous(connection: sqlite3.Connection) -> int:
        return int(connection.execute("PRAGMA synchronous").fetchone()[0])

    normal, full = 1, 2
    assert await awaited(writer.submit(synchronous, is_durable=False), 60) == normal
    assert await awaited(writer.submit(synchronous), 60) == full
    held = Held()
    first = writer.submit(held.use, is_durable=False)
    await asyncio.to_thread(held.has_begun.wait, 60)
    together = [writer.submit(synchronous, is_durable=False), writer.submit(synchronous)]
    held.gate.set()
    await awaited(first, 60)
    assert [await awaited(one, 60) for one in together] == [full, full]


def test_uses_that_are_committed_together_wake_each_loop_that_awaits_them(writer: SqliteWriter):
    async def use(number: int) -> int:
        return await awaited(writer.submit(lambda _: number), 60)

    def sum_of(first: int) -> int:
        async def together() -> int:
            return sum(await asyncio.gather(*(use(first + number) for number in range(100))))

        return asyncio.run(together())

    results: list[int] = []
    threads = [
        threading.Thread(target=lambda first=first: results.append(sum_of(first))) for first in (0, 1000)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(results) == [4950, 104_950]
