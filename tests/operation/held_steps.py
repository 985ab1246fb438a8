"""The steps of a transfer across, and how to hold a serving registry at one of them, before the commit of the step.

A trigger in the database of the test waits for a lock that the test holds: the service itself knows nothing of it.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import asyncpg

from tests.operation.crossing_sides import Side
from tests.operation.registry_process import until_async

LOCK = 471_108


@dataclass(frozen=True)
class Step:
    """Write of a row by one side; `done` is true of the row from its commit on."""

    by: str
    table: str
    write: str
    when: str
    done: str
    follows: "Step | None" = None
    """The receiver's step whose answer lets the sender take this one."""


RESERVE = Step("sender", "transfers_sent", "INSERT", "NEW.state = 'reserved'", "state = 'reserved'")
PREPARE = Step("receiver", "transfers_received", "INSERT", "NEW.state = 'prepared'", "state = 'prepared'")
COMMIT = Step(
    "sender",
    "transfers_sent",
    "UPDATE",
    "NEW.state = 'committed' AND OLD.state = 'reserved'",
    "state = 'committed'",
    PREPARE,
)
CREDIT = Step(
    "receiver",
    "transfers_received",
    "UPDATE",
    "NEW.state = 'committed' AND OLD.state = 'prepared'",
    "state = 'committed'",
)
RECEIPT = Step(
    "sender",
    "transfers_sent",
    "UPDATE",
    "NEW.receipt IS NOT NULL AND OLD.receipt IS NULL",
    "receipt IS NOT NULL",
    CREDIT,
)
CLOSE = Step("receiver", "transfers_received", "UPDATE", "NEW.is_closed AND NOT OLD.is_closed", "is_closed")
STEPS = {
    "reserve": RESERVE,
    "prepare": PREPARE,
    "commit": COMMIT,
    "credit": CREDIT,
    "receipt": RECEIPT,
    "close": CLOSE,
}

_INSTALL = """
CREATE OR REPLACE FUNCTION test_hold() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock_shared({lock});
  RETURN NULL;
END $$;
CREATE TRIGGER test_hold AFTER {write} ON {table} FOR EACH ROW WHEN ({when}) EXECUTE FUNCTION test_hold();
"""
_WAITING = """
SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND objid = $1 AND NOT granted
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""


class Held:
    """A step at which the registry waits."""

    def __init__(self, connection: asyncpg.Connection) -> None:
        self._connection = connection

    async def reached(self) -> None:
        """Until the registry waits before the commit of the step."""
        await until_async(lambda: self._connection.fetchval(_WAITING, LOCK))

    async def break_off(self) -> None:
        """End the waiting statements, as the database does once it notices that its client is gone."""
        await self._connection.execute(
            f"SELECT pg_terminate_backend(pid) FROM ({_WAITING}) waiting".replace("$1", str(LOCK))
        )

    async def release(self) -> None:
        """Let the step, and those after it, go on."""
        await self._connection.execute("SELECT pg_advisory_unlock_all()")


@asynccontextmanager
async def held(side: Side, step: Step) -> AsyncIterator[Held]:
    """From now on the registry waits at this step, until it is released or the block ends."""
    connection = await asyncpg.connect(side.settings["DATABASE_URL"])
    try:
        await connection.execute("SELECT pg_advisory_lock($1)", LOCK)
        await connection.execute(
            _INSTALL.format(lock=LOCK, write=step.write, table=step.table, when=step.when)
        )
        yield Held(connection)
    finally:
        await connection.execute("SELECT pg_advisory_unlock_all()")
        await connection.execute(f"DROP TRIGGER IF EXISTS test_hold ON {step.table}")
        await connection.close()


async def is_done(side: Side, step: Step, payer: str) -> bool:
    """Return whether the newest transfer of this payer is past the commit of the step at this registry."""
    row = await side.registry.database.query(
        lambda tx: tx.fetchval(
            f"SELECT {step.done} FROM {step.table} WHERE sender_did = $1 ORDER BY created_at DESC LIMIT 1",
            payer,
        )
    )
    return bool(row)
