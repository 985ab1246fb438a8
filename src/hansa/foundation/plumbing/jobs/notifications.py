"""A connection that calls the worker whenever there may be work, made again when it breaks.

A notification may be lost with its connection: the worker also looks without one.
"""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress

import asyncpg

from hansa.foundation.plumbing.storage.connection import connect
from hansa.foundation.plumbing.storage.database import OUT_OF_REACH
from hansa.foundation.plumbing.telemetry.job_health import JobHealth
from hansa.foundation.values.errors import Unavailable

LISTENING = "jobs: notifications"
RECONNECT_SECONDS = 1.0
CLOSE_SECONDS = 2.0


async def wake_at_notifications(dsn: str, wakes: Mapping[str, Callable[[], None]], health: JobHealth) -> None:
    """Call the function of a channel at each of its notifications, until cancelled, through every outage of the database."""

    async def listen() -> None:
        try:
            await _listen(dsn, wakes, health)
        except (*OUT_OF_REACH, asyncpg.PostgresError) as error:
            raise Unavailable(f"Notifications cannot be received: {type(error).__name__}.") from error

    while True:
        pause = await health.attempt(LISTENING, listen)
        await asyncio.sleep(max(RECONNECT_SECONDS, pause))


async def _listen(dsn: str, wakes: Mapping[str, Callable[[], None]], health: JobHealth) -> None:
    ended = asyncio.Event()
    connection = await connect(dsn)
    try:
        connection.add_termination_listener(lambda _: ended.set())
        for channel, wake in wakes.items():
            await connection.add_listener(channel, lambda *_, wake=wake: wake())
            # What happened before this connection listened sent no notification to it.
            wake()
        health.succeeded(LISTENING)
        await ended.wait()
    finally:
        with suppress(*OUT_OF_REACH):
            await connection.close(timeout=CLOSE_SECONDS)
