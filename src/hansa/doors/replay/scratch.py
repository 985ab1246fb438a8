"""Scratch databases of a replay: an embedded server with a data directory of its own, both of which end with the replay."""

import asyncio
import signal
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TypeAlias
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

from hansa.foundation.events import REGISTRY_ACCOUNT
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage import backup
from hansa.foundation.plumbing.storage.database import Database
from hansa.foundation.plumbing.storage.embedded import EmbeddedPostgres
from hansa.foundation.plumbing.storage.migrate import migrate
from hansa.rooms import journal, ledger

ScratchDatabases: TypeAlias = Callable[[], Awaitable[str]]
"""Return the address of a database with the schema, the engine's clock and nothing else, each time another one."""
TEMPLATE = "postgres"


@asynccontextmanager
async def scratch_databases(settings: Settings) -> AsyncIterator[ScratchDatabases]:
    """Yield a maker of scratch databases on a server of their own; server and directory end with the block, also after a signal.

    Raises: EmbeddedPostgresFailed.
    """
    with (
        tempfile.TemporaryDirectory(prefix="hansa-replay-", ignore_cleanup_errors=True) as directory,
        ended_by_signals(),
    ):
        server = EmbeddedPostgres(Path(directory), command="hansa replay")
        dsn = await server.start()
        try:
            await prepare(dsn, settings)
            yield lambda: _copy(dsn)
        finally:
            await asyncio.shield(server.stop())


async def prepare(dsn: str, settings: Settings) -> None:
    """Make an empty database a scratch database."""
    await migrate(dsn)
    database = Database(dsn, pool_size=1)
    await database.open()
    try:
        registry_did = f"did:{settings.did_method}:{REGISTRY_ACCOUNT}"
        await database.transaction(
            lambda tx: journal.settle_policies(tx, fail_closed=False, registry_did=registry_did)
        )
        await database.transaction(journal.keep_partitions_ahead)
        await database.transaction(ledger.replay.install_clock)
    finally:
        await database.close()


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Let SIGTERM end the work of this block like an interrupt from the keyboard: what it made is removed."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None
    loop.add_signal_handler(signal.SIGTERM, task.cancel)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGTERM)


async def _copy(dsn: str) -> str:
    parts = urlsplit(dsn)
    template, name = parts.path.removeprefix("/"), f"replay_{uuid4().hex[:8]}"
    async with backup.connect(urlunsplit(parts._replace(path=f"/{TEMPLATE}"))) as connection:
        await connection.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
    return urlunsplit(parts._replace(path=f"/{name}"))
