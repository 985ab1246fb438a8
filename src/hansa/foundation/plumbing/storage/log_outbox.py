"""Outbox of the registry's tiled log, whose rows become its leaves: recorded in the transaction that causes it, by any room.

The sequencer of the log takes rows out once they are committed; the order of leaves is the order in which it sees them.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.canonical import digest

_RECORD = """
INSERT INTO plumbing_log_outbox (kind, object_id, sha256)
SELECT leaf.* FROM unnest($1::text[], $2::text[], $3::bytea[]) AS leaf (kind, object_id, sha256)
"""

_TAKE = """
WITH taken AS (
  DELETE FROM plumbing_log_outbox WHERE id IN (SELECT id FROM plumbing_log_outbox ORDER BY id LIMIT $1)
  RETURNING id, kind, object_id, sha256, at
)
SELECT kind, object_id, sha256, at FROM taken ORDER BY id
"""


class LogEntry(msgspec.Struct, frozen=True):
    """An object that the log is to prove: its kind, its id, and the hash of the document that its own route serves."""

    kind: str
    object_id: str
    sha256: bytes
    at: datetime


async def record_leaf(tx: Tx, kind: str, object_id: str, sha256: bytes) -> None:
    """Let the object become a leaf of the log when `tx` has committed. `sha256` is the raw digest of the object."""
    await tx.execute(_RECORD, [kind], [object_id], [sha256])


async def record_object(tx: Tx, kind: str, object_id: str, members: Mapping[str, Any]) -> None:
    """Record a leaf, like `record_leaf`, by the canonical JSON of the object."""
    await record_objects(tx, [(kind, object_id, members)])


async def record_objects(tx: Tx, objects: Sequence[tuple[str, str, Mapping[str, Any]]]) -> None:
    """Record a leaf for each object, by its kind, its id and its members, in one statement."""
    kinds, ids, members = zip(*objects, strict=True)
    await tx.execute(_RECORD, kinds, ids, [digest(one) for one in members])


async def take_entries(tx: Tx, most: int) -> list[LogEntry]:
    """Take the oldest entries out; only the sequencer does, one at a time."""
    return [LogEntry(**row) for row in await tx.fetch(_TAKE, most)]
