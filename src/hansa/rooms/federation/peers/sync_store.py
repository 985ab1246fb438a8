"""Every statement of the federation room on reading peers: which ones may be read, and when one was."""

from collections.abc import Sequence

from hansa.foundation.plumbing.database import Tx

OPEN_PEERS = "SELECT id FROM federation_peer WHERE status = 'active' AND quarantined_at IS NULL"
"""SQL: the ids of the peers from which something new may be taken in."""

_NOTE_SYNCED = "UPDATE federation_peer SET last_synced_at = clock_timestamp() WHERE id = ANY ($1::bigint[])"


async def open_peer_ids(tx: Tx) -> list[int]:
    """The ids of the peers from which something new may be taken in."""
    return [row["id"] for row in await tx.fetch(f"{OPEN_PEERS} ORDER BY id")]


async def note_synced(tx: Tx, peer_ids: Sequence[int]) -> None:
    """Note that everything new was read from these peers now; nothing of those that are gone."""
    await tx.execute(_NOTE_SYNCED, peer_ids)
