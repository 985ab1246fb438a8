"""Every SQL statement on plumbing_parameter. The lock orders changes and readers (`sql/parameters.sql`)."""

import json
from collections.abc import Mapping
from datetime import datetime, timedelta

import msgspec

from hansa.foundation.plumbing.settings import Knowledge, Turn, Value
from hansa.foundation.plumbing.storage.database import Tx

CHANNEL = "hansa_parameters"

_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('plumbing: parameters', 1))"
_LOCKED_AT = "SELECT clock_timestamp() AS now, plumbing_parameter_lead() AS lead"
_ALL = """
SELECT began.at AS began_at, p.name, p.old, p.new, p.effective_at, p.by
FROM (SELECT now() AS at) began LEFT JOIN plumbing_parameter p ON p.withdrawn_at IS NULL ORDER BY p.effective_at, p.id
"""
_ADD = """
INSERT INTO plumbing_parameter (name, old, new, effective_at, by)
SELECT name, old, nullif(new, 'null'), $2, $3 FROM jsonb_to_recordset($1) AS c (name text, old jsonb, new jsonb)
"""
_WITHDRAW = """
UPDATE plumbing_parameter SET withdrawn_at = now()
WHERE by = $1 AND withdrawn_at IS NULL AND effective_at >= clock_timestamp() + plumbing_parameter_lead()
RETURNING name, old, new
"""
_NOTIFY = f"SELECT pg_notify('{CHANNEL}', '')"
_KNOWN = "SELECT until, lead, changes FROM plumbing_parameters_known()"
_AT = "SELECT name, value FROM plumbing_parameters_at($1)"
_UNLESS_KNOWN = "SELECT began_at, changes FROM plumbing_parameters_unless_known($1)"


class Decided(msgspec.Struct, frozen=True):
    """Change that was decided and not withdrawn."""

    turn: Turn
    old: Value
    by: str


async def lock(tx: Tx) -> tuple[datetime, timedelta]:
    """Let no other change and no reader pass until the transaction ends; returns the time after that, and the lead."""
    await tx.execute(_LOCK)
    row = await tx.fetchrow(_LOCKED_AT)
    assert row is not None
    return row["now"], row["lead"]


async def decided(tx: Tx) -> tuple[datetime, list[Decided]]:
    """Return now() of the transaction, and every change that was not withdrawn, by its moment."""
    rows = await tx.fetch(_ALL)
    return rows[0]["began_at"], [
        Decided(
            Turn(row["name"], json.loads(row["new"] or "null"), row["effective_at"]),
            json.loads(row["old"]),
            row["by"],
        )
        for row in rows
        if row["name"] is not None
    ]


async def add(
    tx: Tx, changes: Mapping[str, tuple[Value, Value | None]], effective_at: datetime, by: str
) -> None:
    """Write changes of one decision, each from a value to another; processes are notified at the commit."""
    lines = [{"name": name, "old": old, "new": new} for name, (old, new) in changes.items()]
    await tx.execute(_ADD, json.dumps(lines), effective_at, by)
    await tx.execute(_NOTIFY)


async def withdraw(tx: Tx, by: str) -> dict[str, tuple[Value, Value]]:
    """Withdraw the changes of a decision that are at least one lead ahead; returns their values before and after."""
    rows = await tx.fetch(_WITHDRAW, by)
    await tx.execute(_NOTIFY)
    return {row["name"]: (json.loads(row["old"]), json.loads(row["new"] or "null")) for row in rows}


async def known(tx: Tx) -> tuple[Knowledge, timedelta]:
    """Read all that a process has to know, after every change under way; and the lead."""
    row = await tx.fetchrow(_KNOWN)
    assert row is not None
    return Knowledge(_turns(row["changes"]), row["until"]), row["lead"]


async def unless_known(tx: Tx, knowledge: Knowledge) -> tuple[datetime, Knowledge]:
    """Return now() of the transaction, and knowledge of that moment: the given one unless it may be incomplete."""
    row = await tx.fetchrow(_UNLESS_KNOWN, knowledge.until)
    assert row is not None
    if row["changes"] is None:
        return row["began_at"], knowledge
    return row["began_at"], Knowledge(_turns(row["changes"]))


async def at(tx: Tx, moment: datetime) -> dict[str, Value]:
    """Return the governed values that were in force at a moment that has passed."""
    return {row["name"]: json.loads(row["value"]) for row in await tx.fetch(_AT, moment)}


def _turns(changes: str) -> tuple[Turn, ...]:
    return tuple(
        Turn(one["name"], one["value"], datetime.fromisoformat(one["at"])) for one in json.loads(changes)
    )
