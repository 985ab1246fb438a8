"""The SQL of emission policies. A change locks its policy; appends read without locks."""

from collections.abc import Mapping

import asyncpg

from hansa.foundation.plumbing.storage.database import Tx

from .rules import Policy, Rule, Side

_COLUMNS = "event_type, emit_from_teg, emit_from_registry, skip_in_projection, updated_at"

_WRITE = f"""
UPDATE journal_emission_policy SET emit_from_teg = $2, emit_from_registry = $3, skip_in_projection = $4,
  updated_at = now()
WHERE event_type = $1 RETURNING {_COLUMNS}
"""  # noqa: S608

_WRITE_MISSING = """
INSERT INTO journal_emission_policy (event_type, emit_from_teg, emit_from_registry, skip_in_projection)
VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING
"""

_CORRECT = """
UPDATE journal_emission_policy SET emit_from_teg = $2 OR emit_from_teg, emit_from_registry = $3 OR emit_from_registry,
  updated_at = now()
WHERE event_type = $1 AND ($2 AND emit_from_teg IS NOT TRUE OR $3 AND emit_from_registry IS NOT TRUE)
"""


async def policies(tx: Tx) -> list[Policy]:
    """Every policy but the default, by event type."""
    rows = await tx.fetch(
        f"SELECT {_COLUMNS} FROM journal_emission_policy WHERE event_type <> '*' ORDER BY event_type"  # noqa: S608
    )
    return [_policy(row) for row in rows]


async def default(tx: Tx) -> bool:
    """Return whether the registry's events are recorded where no policy speaks of them."""
    admitted: bool = await tx.fetchval(
        "SELECT emit_from_registry FROM journal_emission_policy WHERE event_type = '*'"
    )
    return admitted


async def lock_policy(tx: Tx, event_type: str) -> Policy:
    """The policy, locked; one that says nothing is made where there is none."""
    await tx.execute(
        "INSERT INTO journal_emission_policy (event_type) VALUES ($1) ON CONFLICT DO NOTHING", event_type
    )
    row = await tx.fetchrow(
        f"SELECT {_COLUMNS} FROM journal_emission_policy WHERE event_type = $1 FOR UPDATE",  # noqa: S608
        event_type,
    )
    assert row is not None
    return _policy(row)


async def write_policy(tx: Tx, event_type: str, rule: Rule) -> Policy:
    """Write the rule of a locked policy."""
    row = await tx.fetchrow(
        _WRITE, event_type, rule.emit_from_teg, rule.emit_from_registry, rule.skip_in_projection
    )
    assert row is not None
    return _policy(row)


async def write_missing(tx: Tx, defaults: Mapping[str, Rule]) -> None:
    """Write these policies where there are none."""
    await tx.executemany(
        _WRITE_MISSING,
        [
            (event_type, rule.emit_from_teg, rule.emit_from_registry, rule.skip_in_projection)
            for event_type, rule in defaults.items()
        ],
    )


async def correct_required(tx: Tx, required: Mapping[str, tuple[Side, ...]]) -> None:
    """Switch on the records that these types require, where a policy says otherwise."""
    await tx.executemany(
        _CORRECT,
        [(name, "emit_from_teg" in sides, "emit_from_registry" in sides) for name, sides in required.items()],
    )


async def write_default(tx: Tx, *, admitted: bool) -> None:
    """Write whether the registry's events are recorded where no policy speaks of them."""
    await tx.execute(
        "UPDATE journal_emission_policy SET emit_from_registry = $1, updated_at = now()"
        " WHERE event_type = '*' AND emit_from_registry IS DISTINCT FROM $1",
        admitted,
    )


def _policy(row: asyncpg.Record) -> Policy:
    rule = Rule(row["emit_from_teg"], row["emit_from_registry"], row["skip_in_projection"])
    return Policy(row["event_type"], rule, row["updated_at"])
