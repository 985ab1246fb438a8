"""Poolers between the registry and PostgreSQL, such as PgBouncer. The registry has a pool of its own and needs none.

- A pooler of transactions is refused at the start: prepared statements, notifications and settings belong to a session.
- A pooler of sessions may drop the settings with which a connection begins; `settings_not_in_effect` finds those.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

import asyncpg

from .connection import SERVER_SETTINGS, Tx
from .hosts import connect_to_writer

if TYPE_CHECKING:
    Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"

# A pooler gives the session that it used last, or the next one: in turn, two connections meet in few rounds.
ROUNDS = 3

_SETTINGS = "SELECT name, current_setting(name) AS value FROM unnest($1::text[]) AS name"


async def pools_transactions(connection: "Connection", dsn: str) -> bool:
    """Return whether the transactions of this connection run in sessions that it shares with others.

    PostgreSQL names the process of the session when it accepts a connection; a pooler makes up a number.
    """
    sessions = {await _session(connection)}
    if sessions == {connection.get_server_pid()}:
        return False
    other, _ = await connect_to_writer(dsn)
    try:
        others = set()
        for _ in range(ROUNDS):
            others.add(await _session(other))
            sessions.add(await _session(connection))
    except asyncpg.PostgresError:
        # A statement that was prepared in another session.
        return True
    finally:
        other.terminate()
    return len(sessions) > 1 or len(others) > 1 or sessions == others


async def _session(connection: "Connection") -> int:
    async with connection.transaction():
        process: int = await connection.fetchval("SELECT pg_backend_pid()")
        return process


async def settings_not_in_effect(tx: Tx) -> dict[str, str]:
    """The settings of a connection that the session does not have, each with the value that it has."""
    rows = await tx.fetch(_SETTINGS, list(SERVER_SETTINGS))
    return {row["name"]: row["value"] for row in rows if row["value"] != SERVER_SETTINGS[row["name"]]}


def sentence_on_dropped(dropped: Mapping[str, str]) -> str:
    """Sentence on settings that are not in effect."""
    values = ", ".join(f"{name} is {value}" for name, value in dropped.items())
    return f"a pooler drops the settings of the registry's connections: {values}"


def remedy_for_dropped(dropped: Mapping[str, str]) -> str:
    """Statements by which the role has the settings whoever connects."""
    return "; ".join(f"ALTER ROLE CURRENT_USER SET {name} = '{SERVER_SETTINGS[name]}'" for name in dropped)
