"""The SQL of the showcase. A new list of pins replaces the old one under an advisory lock."""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from hansa.foundation.plumbing.storage.database import Tx

# Listed, callable, and an agent of this registry: what was hidden since the index was written is not shown.
_SHOWN = """
c.is_active AND NOT c.unlisted AND c.status = 'active' AND NOT c.is_stub AND c.liveness <> 'unreachable'
  AND c.source_registry IS NULL AND c.did IS NOT NULL
"""

_COLUMNS = """
c.id AS number, c.did, c.name, coalesce(c.organization_id::text, c.developer_id::text) AS owner, c.verified_jobs, c.created_at,
c.last_alive_at
"""

_PINNED = f"""
SELECT p.note, {_COLUMNS} FROM catalogue_showcase_pin p JOIN catalogue_card c ON c.did = p.did WHERE {_SHOWN} ORDER BY p.position
"""  # noqa: S608

_FOUND = f"SELECT NULL AS note, {_COLUMNS} FROM catalogue_card c WHERE c.id = ANY ($1::bigint[]) AND {_SHOWN}"  # noqa: S608

_PINS = "SELECT did, note FROM catalogue_showcase_pin ORDER BY position"

_UNKNOWN = """
SELECT w.did FROM unnest($1::text[]) AS w (did)
WHERE NOT EXISTS (SELECT FROM catalogue_card c WHERE c.did = w.did AND c.source_registry IS NULL) ORDER BY w.did
"""

_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('catalogue: showcase', 0))"

_PIN = """
INSERT INTO catalogue_showcase_pin (position, did, note)
SELECT position, did, note FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS n (did, note, position)
"""


class Candidate(msgspec.Struct, frozen=True):
    """Agent that may be shown; `note` is that of its pin."""

    number: int
    did: str
    name: str
    owner: str
    verified_jobs: int
    created_at: datetime
    last_alive_at: datetime | None
    note: str | None = None


async def pinned(tx: Tx) -> list[Candidate]:
    """The pinned agents that may be shown, in their order."""
    return [Candidate(**dict(row.items())) for row in await tx.fetch(_PINNED)]


async def found(tx: Tx, numbers: Sequence[int]) -> dict[int, Candidate]:
    """Those of these cards that may be shown, by their numbers."""
    rows = await tx.fetch(_FOUND, numbers)
    return {row["number"]: Candidate(**dict(row.items())) for row in rows}


async def pins(tx: Tx) -> list[tuple[str, str]]:
    """DID and note of each pin, whether or not it may be shown."""
    return [(row["did"], row["note"]) for row in await tx.fetch(_PINS)]


async def unknown(tx: Tx, dids: Sequence[str]) -> list[str]:
    """Those of the DIDs that no agent of this registry has."""
    return [row["did"] for row in await tx.fetch(_UNKNOWN, dids)]


async def replace_pins(tx: Tx, dids: Sequence[str], notes: Sequence[str]) -> None:
    """Replace all pins."""
    await tx.execute(_LOCK)
    await tx.execute("DELETE FROM catalogue_showcase_pin")
    await tx.execute(_PIN, dids, notes)
