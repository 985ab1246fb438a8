"""Append committed records from the outbox to the log, and sign a checkpoint. The sequencer is the only writer of the log.

It is one transaction at READ COMMITTED whose first statement locks the log: leaves, nodes and checkpoint commit together, so
every leaf of the log is covered by its newest checkpoint.
"""

from collections.abc import Sequence

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.log_outbox import LogEntry, take_entries
from hansa.foundation.values import merkle
from hansa.foundation.values.canonical import canonical_json

from . import store
from .notes import checkpoint_text, origin_of, signed_note

VERSION = 1
LEAVES_AT_ONCE = 5_000


async def append_and_sign(tx: Tx, frame: str, size: int, keys: Sequence[Ed25519PrivateKey]) -> int:
    """Append the pending records, and sign the checkpoint with these keys. Returns how many leaves were appended.

    The log is locked and has `size` leaves (`lock_log`).
    """
    entries = await take_entries(tx, LEAVES_AT_ONCE)
    leaves = [
        store.Leaf(index, entry.kind, entry.object_id, _content(entry))
        for index, entry in enumerate(entries, start=size)
    ]
    frontier = await store.read_nodes(tx, merkle.nodes_of((0, size)))
    new = merkle.appended(size, frontier, [merkle.leaf_hash(leaf.entry) for leaf in leaves])
    end = size + len(leaves)
    if leaves:
        await store.add_leaves(tx, leaves, new, end)
    root = merkle.fold((0, end), {**frontier, **new})
    origin = origin_of(frame)
    await store.keep_checkpoint(tx, end, signed_note(checkpoint_text(origin, end, root), origin, keys))
    return len(leaves)


def _content(entry: LogEntry) -> bytes:
    return canonical_json(
        {
            "v": VERSION,
            "kind": entry.kind,
            "id": entry.object_id,
            "sha256": entry.sha256.hex(),
            "at": entry.at.isoformat(timespec="microseconds"),
        }
    )
