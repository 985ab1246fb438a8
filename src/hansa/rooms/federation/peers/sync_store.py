"""Every statement of the federation room on reading peers: which ones may be read, and when one was."""

from hansa.foundation.plumbing.database import Tx
from hansa.foundation.plumbing.jobs import Question

_OPEN = """
SELECT id FROM federation_peer WHERE status = 'active' AND quarantined_at IS NULL ORDER BY id
"""

HAS_OPEN_PEER = Question(f"SELECT EXISTS ({_OPEN})")
"""Whether there is a peer from which something new may be taken in."""

_NOTE_SYNCED = "UPDATE federation_peer SET last_synced_at = clock_timestamp() WHERE id = $1"


async def open_peer_ids(tx: Tx) -> list[int]:
    """The ids of the peers from which something new may be taken in."""
    return [row["id"] for row in await tx.fetch(_OPEN)]


async def note_synced(tx: Tx, peer_id: int) -> None:
    """Note that everything new was read from the peer now; nothing where the peer is gone."""
    await tx.execute(_NOTE_SYNCED, peer_id)
