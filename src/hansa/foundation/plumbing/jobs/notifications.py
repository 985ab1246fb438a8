"""A connection that sets an event whenever a job was enqueued, made again when it breaks.

A notification may be lost with its connection: the worker also looks without one.
"""

import asyncio
from contextlib import suppress

import asyncpg

from hansa.foundation.plumbing.database import ACQUIRE_SECONDS, OUT_OF_REACH, SERVER_SETTINGS
from hansa.foundation.plumbing.job_health import JobHealth
from hansa.foundation.values.errors import Unavailable

from .store import NOTIFICATIONS

LISTENING = "jobs: notifications"
RECONNECT_SECONDS = 1.0
CLOSE_SECONDS = 2.0


async def wake_at_notifications(dsn: str, wake: asyncio.Event, health: JobHealth) -> None:
    """Run until cancelled, through every outage of the database."""

    async def listen() -> None:
        try:
            await _listen(dsn, wake, health)
        except (*OUT_OF_REACH, asyncpg.PostgresError) as trouble:
            raise Unavailable(f"Notifications cannot be received: {type(trouble).__name__}.") from trouble

    while True:
        pause = await health.attempt(LISTENING, listen)
        await asyncio.sleep(max(RECONNECT_SECONDS, pause))


async def _listen(dsn: str, wake: asyncio.Event, health: JobHealth) -> None:
    ended = asyncio.Event()
    connection = await asyncpg.connect(dsn, timeout=ACQUIRE_SECONDS, server_settings=SERVER_SETTINGS)
    try:
        connection.add_termination_listener(lambda _: ended.set())
        await connection.add_listener(NOTIFICATIONS, lambda *_: wake.set())
        # Jobs enqueued before this connection listened sent no notification to it.
        wake.set()
        health.succeeded(LISTENING)
        await ended.wait()
    finally:
        with suppress(*OUT_OF_REACH):
            await connection.close(timeout=CLOSE_SECONDS)
