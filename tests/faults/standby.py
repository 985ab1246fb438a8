"""A leader and its synchronous standby, whose stream may stall, and the promotion of the standby."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg

from hansa.foundation.plumbing.storage.migrate import migrate
from tests.data_directories import copy_data_directory
from tests.operation.plain_postgresql import CARELESS, PlainPostgresql, plain_postgresql, until_it_answers

NAME = "second"
LOSSLESS = ("synchronous_commit=on", f"synchronous_standby_names={NAME}")
COME_TO_PASS_SECONDS = 60


@dataclass
class Pair:
    """The two servers. The leader's commits wait for the standby."""

    leader: str
    standby: str
    _postgresql: PlainPostgresql
    _stack: ExitStack
    _stopped: list[int]

    async def stall(self) -> None:
        """Stop the process that sends the log to the standby; later commits stay at the leader."""
        sender = await value_of(self.leader, "SELECT pid FROM pg_stat_replication")
        os.kill(sender, signal.SIGSTOP)
        self._stopped.append(sender)

    def resume(self) -> None:
        """Let the log flow again."""
        while self._stopped:
            os.kill(self._stopped.pop(), signal.SIGCONT)

    async def commits_waiting(self) -> int:
        """How many commits wait for the standby."""
        waiting: int = await value_of(
            self.leader,
            "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND backend_type = 'client backend'",
        )
        return waiting

    async def cancel_waiting(self) -> None:
        """Cancel every commit that waits, as a client that times out or an administrator does."""
        await value_of(
            self.leader,
            "SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity WHERE wait_event = 'SyncRep'",
        )

    @property
    def both(self) -> str:
        """The connection string that names both servers, the standby first."""
        return f"postgresql://hansa@/postgres?host={self.folder},{self.folder}&port=5433,5432"

    @property
    def folder(self) -> Path:
        """The folder of the clusters and of their sockets."""
        return self._postgresql.folder

    def run(self, program: str, *options: str) -> None:
        """Run a program of PostgreSQL to its end."""
        self._postgresql.run(program, *options)

    def hang(self) -> None:
        """Stop every process of the leader: its connections stay, and nothing answers."""
        self._stopped += self._processes()
        for process in self._stopped:
            os.kill(process, signal.SIGSTOP)

    async def promote(self) -> None:
        """Make the standby a leader, whose commits wait for nothing."""
        assert await value_of(self.standby, "SELECT pg_promote()")

    async def fail_over(self) -> None:
        """Kill the leader at once, and promote the standby."""
        for process in self._processes():
            os.kill(process, signal.SIGKILL)
        self._stopped.clear()
        await self.promote()

    def _processes(self) -> list[int]:
        pid = int((self.folder / "first" / "postmaster.pid").read_text().split("\n", 1)[0])
        return [pid, *(int(line) for line in _children(pid))]


def _children(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


async def value_of(dsn: str, statement: str, *arguments: object) -> Any:
    connection = await asyncpg.connect(dsn)
    try:
        return await connection.fetchval(statement, *arguments)
    finally:
        await connection.close()


async def until(condition: Any) -> None:
    """Wait until the condition is true."""
    async with asyncio.timeout(COME_TO_PASS_SECONDS):
        while not await condition():  # noqa: ASYNC110
            await asyncio.sleep(0.05)


@asynccontextmanager
async def migrated_cluster() -> AsyncIterator[Path]:
    """A stopped cluster whose database has the schema."""
    with plain_postgresql() as postgresql:
        cluster = postgresql.make("migrated")
        with postgresql.running(cluster, *CARELESS) as dsn:
            await until_it_answers(dsn)
            await migrate(dsn)
        yield cluster


@asynccontextmanager
async def leader_and_standby(original: Path | None = None) -> AsyncIterator[Pair]:
    """Two clusters that run, the leader with an empty database or as a copy of a stopped one; the standby has everything."""
    with plain_postgresql() as postgresql, ExitStack() as stack:
        first = postgresql.folder / "first"
        if original is None:
            postgresql.make(first.name)
        else:
            copy_data_directory(original, first)
        leader = stack.enter_context(postgresql.running(first, *CARELESS, "port=5432"))
        await until_it_answers(leader)
        second = postgresql.folder / NAME
        postgresql.run(
            "pg_basebackup",
            f"--pgdata={second}",
            "--checkpoint=fast",
            "--write-recovery-conf",
            f"--dbname={leader}&application_name={NAME}",
        )
        running = postgresql.running(second, *CARELESS, "port=5433", "hot_standby=on")
        standby = stack.enter_context(running) + "&port=5433"
        await until_it_answers(standby)
        connection = await asyncpg.connect(leader)
        for setting in LOSSLESS:
            name, _, value = setting.partition("=")
            await connection.execute(f"ALTER SYSTEM SET {name} = '{value}'")
        await connection.execute("SELECT pg_reload_conf()")
        await connection.close()
        pair = Pair(leader, standby, postgresql, stack, [])
        await until(
            lambda: value_of(leader, "SELECT count(*) = 1 FROM pg_stat_replication WHERE sync_state = 'sync'")
        )
        try:
            yield pair
        finally:
            pair.resume()
