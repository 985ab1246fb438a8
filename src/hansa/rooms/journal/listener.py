"""A connection that is notified when something was committed to the journal.

Of transactions that end together only one notifies, an older open one holds back its events, and a notification
may be lost with its connection: a reader that follows the journal also looks without one.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import TypeAlias

from hansa.foundation.plumbing.storage.connection import DatabaseConnection, connect
from hansa.foundation.plumbing.storage.database import OUT_OF_REACH

NOTIFICATIONS = "hansa_journal"
CLOSE_SECONDS = 2.0

Connection: TypeAlias = DatabaseConnection


@asynccontextmanager
async def listening(dsn: str, *wakes: asyncio.Event) -> AsyncIterator[Connection]:
    """A connection that sets every one of `wakes` at each notification, and when it ends."""

    def wake_all(*_: object) -> None:
        for wake in wakes:
            wake.set()

    connection = await connect(dsn)
    try:
        connection.add_termination_listener(wake_all)
        await connection.add_listener(NOTIFICATIONS, wake_all)
        yield connection
    finally:
        with suppress(*OUT_OF_REACH):
            await connection.close(timeout=CLOSE_SECONDS)
