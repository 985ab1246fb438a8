"""Every statement of administrators' acts on peers. Each changes the row only from a state that allows it."""

from hansa.foundation.plumbing.storage.database import Tx

_PAUSE = """
UPDATE federation_peer SET status = 'inactive', paused_at = clock_timestamp()
WHERE id = $1 AND paused_at IS NULL AND NOT removing
"""

_RESUME = """
UPDATE federation_peer SET paused_at = NULL, approval = 'approved',
  approved_at = coalesce(approved_at, clock_timestamp())
WHERE id = $1 AND NOT removing AND (paused_at IS NOT NULL OR approval = 'pending')
"""

_QUARANTINE = """
UPDATE federation_peer SET quarantined_at = clock_timestamp(), quarantine_reason = $2
WHERE id = $1 AND quarantined_at IS NULL AND NOT removing
"""

_RELEASE = """
UPDATE federation_peer SET quarantined_at = NULL, quarantine_reason = NULL
WHERE id = $1 AND quarantined_at IS NOT NULL AND NOT removing
"""

_SET_AUTO_SLASH = "UPDATE federation_peer SET auto_slash_enabled = $2, auto_slash_max_avt = $3 WHERE id = $1"

_SET_NET_IN_LIMIT = "UPDATE federation_peer SET net_in_limit = $2 WHERE id = $1"

_BEGIN_REMOVAL = (
    "UPDATE federation_peer SET status = 'inactive', removing = true WHERE id = $1 AND NOT removing"
)

_NOTE_ROSTER_READ = "UPDATE federation_peer SET roster_read_at = clock_timestamp() WHERE id = $1"

_IS_ROSTER_OLDER = "SELECT roster_read_at < clock_timestamp() - make_interval(hours => $2) FROM federation_peer WHERE id = $1"


async def pause(tx: Tx, peer_id: int) -> bool:
    """Make a peer inactive until it is resumed; whether it was not paused before."""
    return await tx.execute(_PAUSE, peer_id) == "UPDATE 1"


async def resume(tx: Tx, peer_id: int) -> bool:
    """End a pause and approve the peer; whether it was paused or pending."""
    return await tx.execute(_RESUME, peer_id) == "UPDATE 1"


async def quarantine(tx: Tx, peer_id: int, reason: str) -> bool:
    """Begin a quarantine; whether there was none."""
    return await tx.execute(_QUARANTINE, peer_id, reason) == "UPDATE 1"


async def release(tx: Tx, peer_id: int) -> bool:
    """End a quarantine; whether there was one."""
    return await tx.execute(_RELEASE, peer_id) == "UPDATE 1"


async def set_auto_slash(tx: Tx, peer_id: int, *, is_enabled: bool, most: int) -> None:
    """Set which slashes of a peer are approved without an administrator."""
    await tx.execute(_SET_AUTO_SLASH, peer_id, is_enabled, most)


async def set_net_in_limit(tx: Tx, peer_id: int, limit: int | None) -> None:
    """Set how much a peer may bring in more than it takes out, None: unlimited."""
    await tx.execute(_SET_NET_IN_LIMIT, peer_id, limit)


async def begin_removal(tx: Tx, peer_id: int) -> bool:
    """End the trust in a peer; whether it was trusted before."""
    return await tx.execute(_BEGIN_REMOVAL, peer_id) == "UPDATE 1"


async def removing(tx: Tx) -> list[int]:
    """The ids of the peers that are being removed."""
    return [row["id"] for row in await tx.fetch("SELECT id FROM federation_peer WHERE removing ORDER BY id")]


async def delete(tx: Tx, peer_id: int) -> None:
    """Delete a peer that is being removed, with the counts about it."""
    await tx.execute("DELETE FROM federation_peer WHERE id = $1 AND removing", peer_id)


async def note_roster_read(tx: Tx, frame_id: int) -> None:
    """The frame answered which operators it certifies."""
    await tx.execute(_NOTE_ROSTER_READ, frame_id)


async def is_roster_older(tx: Tx, frame_id: int, hours: int) -> bool:
    """Return whether the frame has not answered for so many hours."""
    return bool(await tx.fetchval(_IS_ROSTER_OLDER, frame_id, hours))
