"""Notify peers as soon as something that they read here has changed: each peer by a job of its own.

The catalogue runs these jobs: its hint also names the newest act of enforcement. Where a hint does not arrive, the peer
reads at its own interval.
"""

from hansa.foundation.plumbing.jobs import SCHEDULE, NewJob, enqueue, enqueue_many
from hansa.foundation.plumbing.storage.database import Tx

HINT_KIND = "peer hint"
LICENCE_ROUND = "federation: refresh licences"
"""The scheduled job that judges the own licence and those of peers."""
OPEN_PEERS = "SELECT id FROM federation_peer WHERE status = 'active' AND quarantined_at IS NULL"
"""SQL: the ids of the peers from which something new may be taken in."""


async def open_peer_ids(tx: Tx) -> list[int]:
    """The ids of the peers from which something new may be taken in."""
    return [row["id"] for row in await tx.fetch(f"{OPEN_PEERS} ORDER BY id")]


async def notify_peers(tx: Tx) -> None:
    """Send every open peer a hint when `tx` has committed."""
    await enqueue_many(tx, HINT_KIND, [NewJob(str(peer_id)) for peer_id in await open_peer_ids(tx)])


async def judge_licences_soon(tx: Tx) -> None:
    """Let all licences be judged when `tx` has committed, and no sooner than a second after the last time."""
    after = await tx.fetchval("SELECT max(checked_at) + interval '1 second' FROM federation_licence_verdict")
    await enqueue(tx, LICENCE_ROUND, SCHEDULE, due_at=after)


async def note_licences_changed(tx: Tx) -> None:
    """Judge licences anew, here and at the peers: the state of a certificate changed, or another one is held."""
    await judge_licences_soon(tx)
    await notify_peers(tx)
