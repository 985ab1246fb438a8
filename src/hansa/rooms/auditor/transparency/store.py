"""Every SQL statement about the tiled log. The sequencer locks the row of the log before it reads its size."""

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta

import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.merkle import Node

COSIGNED_MAX_AGE = timedelta(minutes=10)
"""For how long a cosigned checkpoint is published while no later one is cosigned."""

_LOCK = "SELECT size FROM auditor_log FOR UPDATE"

_ADD_LEAVES = """
INSERT INTO auditor_log_leaf (index, kind, object_id, entry)
SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bytea[])
"""

_ADD_NODES = """
INSERT INTO auditor_log_node (level, index, hash) SELECT * FROM unnest($1::smallint[], $2::bigint[], $3::bytea[])
"""

_NODES = """
SELECT n.level, n.index, n.hash FROM unnest($1::smallint[], $2::bigint[]) AS w (level, index)
JOIN auditor_log_node n USING (level, index)
"""

_KEEP_CHECKPOINT = """
INSERT INTO auditor_log_checkpoint (size, note) VALUES ($1, $2)
ON CONFLICT (size) DO UPDATE SET note = excluded.note, signed_at = clock_timestamp()
"""

# A log whose witnesses do not answer goes on without them.
_COSIGNED = """
SELECT size, note, cosignatures FROM (
  SELECT size, note, cosignatures, signed_at FROM auditor_log_checkpoint WHERE cosignatures IS NOT NULL
  ORDER BY size DESC LIMIT 1) AS newest WHERE signed_at > clock_timestamp() - $1::interval
"""

# A line begins with a dash and the name of its signer; a witness has a line for each of its keys.
_PUBLISH = f"""
WITH published AS ({_COSIGNED}), known AS (
  SELECT count(DISTINCT split_part(line, ' ', 2)) AS cosigners FROM published, unnest(cosignatures) AS line)
UPDATE auditor_log_checkpoint c SET cosignatures = cosigned.lines FROM (
  SELECT size, array_agg(line ORDER BY length(line), name) AS lines FROM auditor_log_witness, unnest(lines) AS line
  WHERE name = ANY ($2::text[]) GROUP BY size
  HAVING count(DISTINCT name) >= least($3, (SELECT cosigners FROM known)) ORDER BY size DESC LIMIT 1
) AS cosigned WHERE c.size = cosigned.size AND c.cosignatures IS DISTINCT FROM cosigned.lines
"""  # noqa: S608

_FIND_LEAVES = """
SELECT DISTINCT ON (object_id) object_id, index FROM auditor_log_leaf
WHERE kind = $1 AND object_id = ANY ($2) ORDER BY object_id, index DESC
"""


class Leaf(msgspec.Struct, frozen=True):
    """A leaf of the log; `entry` is its canonical JSON."""

    index: int
    kind: str
    object_id: str
    entry: bytes


async def lock_log(tx: Tx) -> int:
    """How many leaves the log has; nobody else appends until the transaction ends."""
    size: int = await tx.fetchval(_LOCK)
    return size


async def add_leaves(tx: Tx, leaves: Sequence[Leaf], nodes: Mapping[Node, bytes], size: int) -> None:
    """Append leaves with the nodes that they complete. The log is locked."""
    columns = [[getattr(leaf, name) for leaf in leaves] for name in ("index", "kind", "object_id", "entry")]
    await tx.execute(_ADD_LEAVES, *columns)
    await tx.execute(
        _ADD_NODES, [node[0] for node in nodes], [node[1] for node in nodes], list(nodes.values())
    )
    moved = await tx.execute("UPDATE auditor_log SET size = $2 WHERE size = $1", leaves[0].index, size)
    assert moved == "UPDATE 1", "the log is locked"


async def keep_checkpoint(tx: Tx, size: int, note: str) -> None:
    """Write the checkpoint of this size, or sign it anew."""
    await tx.execute(_KEEP_CHECKPOINT, size, note)


async def newest_checkpoint(tx: Tx) -> tuple[int, str] | None:
    """The size and the note of the newest checkpoint."""
    row = await tx.fetchrow("SELECT size, note FROM auditor_log_checkpoint ORDER BY size DESC LIMIT 1")
    return (row["size"], row["note"]) if row else None


async def cosigned_checkpoint(tx: Tx) -> tuple[int, str, list[str]] | None:
    """The newest checkpoint that is published with cosignatures, and these; None where it is too old."""
    row = await tx.fetchrow(_COSIGNED, COSIGNED_MAX_AGE)
    return (row["size"], row["note"], row["cosignatures"]) if row else None


async def publish_cosigned(tx: Tx, witnesses: Sequence[str], quorum: int) -> None:
    """Publish the newest checkpoint that so many of these witnesses have cosigned, or as many as the published one."""
    await tx.execute(_PUBLISH, COSIGNED_MAX_AGE, witnesses, quorum)


async def cosignatures_of(tx: Tx, size: int) -> list[str]:
    """The signature lines of witnesses over the checkpoint of this size, the shortest first."""
    query = (
        "SELECT line FROM auditor_log_witness, unnest(lines) line WHERE size = $1 ORDER BY length(line), name"
    )
    return [row["line"] for row in await tx.fetch(query, size)]


async def read_nodes(tx: Tx, nodes: Collection[Node]) -> dict[Node, bytes]:
    """The hashes of these nodes."""
    rows = await tx.fetch(_NODES, [node[0] for node in nodes], [node[1] for node in nodes])
    return {(row["level"], row["index"]): row["hash"] for row in rows}


async def hashes_between(tx: Tx, level: int, begin: int, end: int) -> list[bytes]:
    """The hashes of a level, in order."""
    rows = await tx.fetch(
        "SELECT hash FROM auditor_log_node WHERE level = $1 AND index >= $2 AND index < $3 ORDER BY index",
        level,
        begin,
        end,
    )
    return [row["hash"] for row in rows]


async def entries_between(tx: Tx, begin: int, end: int) -> list[bytes]:
    """The entries of leaves, in order."""
    rows = await tx.fetch(
        "SELECT entry FROM auditor_log_leaf WHERE index >= $1 AND index < $2 ORDER BY index", begin, end
    )
    return [row["entry"] for row in rows]


async def read_leaf(tx: Tx, index: int) -> Leaf | None:
    """One leaf."""
    row = await tx.fetchrow(
        "SELECT index, kind, object_id, entry FROM auditor_log_leaf WHERE index = $1", index
    )
    return Leaf(**row) if row else None


async def read_leaves(tx: Tx, indexes: Sequence[int]) -> list[Leaf]:
    """These leaves."""
    query = "SELECT index, kind, object_id, entry FROM auditor_log_leaf WHERE index = ANY ($1)"
    return [Leaf(**row) for row in await tx.fetch(query, list(indexes))]


async def find_leaves(tx: Tx, kind: str, object_ids: Sequence[str]) -> dict[str, int]:
    """The newest leaf of each of these objects."""
    rows = await tx.fetch(_FIND_LEAVES, kind, list(object_ids))
    return {row["object_id"]: row["index"] for row in rows}
