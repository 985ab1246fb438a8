"""Every SQL statement about how far peers were read, and about the statuses that they state.

Locks: a page is applied under the lock of the peer's row in `catalogue_peer_sync`, which the removal of the peer takes first.
"""

from collections.abc import Sequence

from hansa.foundation.plumbing.jobs import Question
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms.federation import OPEN_PEERS

from .records import CardsDue, JudgedPage, Progress, Stated

RECONCILED_EVERY = "1 day"
ACKNOWLEDGED_MAX = 100_000
"""Acts of one peer of which a receipt is kept; beyond them only acts on agents that are mirrored are receipted."""

_COLUMNS = (
    "epoch, export_version, cards_next, acts_next, page_size, reconcile_due_at <= now() AS is_reconciled_now"
)

_BEGIN = "INSERT INTO catalogue_peer_sync (peer_id) SELECT unnest($1::bigint[]) ON CONFLICT DO NOTHING"

TO_PLAN = Question(f"""
SELECT EXISTS (SELECT FROM catalogue_peer_sync WHERE acts_due_at <= now())
  OR EXISTS ({OPEN_PEERS} EXCEPT SELECT peer_id FROM catalogue_peer_sync)
""")  # noqa: S608
"""Whether acts are due to be looked for, or a peer is not read yet."""

_PROGRESS = f"SELECT {_COLUMNS} FROM catalogue_peer_sync WHERE peer_id = $1"  # noqa: S608

_LOCK = "SELECT FROM catalogue_peer_sync WHERE peer_id = $1 FOR UPDATE"

# The page is applied only where its reader began from the place that is stored.
_MOVE_CARDS = """
UPDATE catalogue_peer_sync SET cards_next = $3, epoch = $4, export_version = $5
WHERE peer_id = $1 AND cards_next IS NOT DISTINCT FROM $2 RETURNING 1
"""

_MOVE_ACTS = """
UPDATE catalogue_peer_sync SET acts_next = $3 WHERE peer_id = $1 AND acts_next IS NOT DISTINCT FROM $2 RETURNING 1
"""

_SET_PAGE_SIZE = "UPDATE catalogue_peer_sync SET page_size = $2 WHERE peer_id = $1"

_BEGIN_ANEW = """
UPDATE catalogue_peer_sync SET cards_next = NULL, acts_next = NULL, epoch = $2, export_version = $3 WHERE peer_id = $1
"""

# A database that was restored begins its versions anew: what it lost may not keep what it has from being taken.
_FORGET_VERSIONS = """
UPDATE catalogue_card SET peer_version = NULL, peer_status_version = NULL WHERE source_registry = $1
"""

_NOTE_RECONCILED = f"""
UPDATE catalogue_peer_sync SET reconcile_due_at = now() + interval '{RECONCILED_EVERY}' WHERE peer_id = $1
"""  # noqa: S608

_RECONCILE_ALL = (
    "UPDATE catalogue_peer_sync SET reconcile_due_at = now(), cards_due_at = now(), acts_due_at = now()"
)

HAS_DUE_CARDS = Question("SELECT EXISTS (SELECT FROM catalogue_peer_sync WHERE cards_due_at <= now())")
"""Whether the cards of a peer are due to be read."""

# Those that are due soon are read with them: one round of many costs less than many rounds.
_DUE_CARDS = """
SELECT peer_id, cards_next AS since, epoch, export_version, reconcile_due_at <= now() AS is_reconciled_now
FROM catalogue_peer_sync WHERE cards_due_at <= now() + $1 * interval '1 second' ORDER BY peer_id
"""

_PUT_OFF_CARDS = """
UPDATE catalogue_peer_sync SET cards_due_at = now() + $2 * interval '1 second' WHERE peer_id = ANY ($1::bigint[])
"""

# All peers are looked at together, as soon as one of them is due.
_DUE_ACTS = """
UPDATE catalogue_peer_sync SET acts_due_at = now() + $1 * interval '1 second'
WHERE EXISTS (SELECT FROM catalogue_peer_sync WHERE acts_due_at <= now()) RETURNING 1
"""

_ACTS_PLACES = "SELECT peer_id, acts_next FROM catalogue_peer_sync"

_FORGET = "DELETE FROM catalogue_peer_sync WHERE peer_id = $1"

_FORGET_APPLIED = "DELETE FROM catalogue_applied_act WHERE peer_id = $1"

# Whatever the mode, the statement of the home is kept; in `enforce` the mirror has its status.
_STATE = """
WITH given AS (SELECT * FROM unnest($3::text[], $4::bigint[], $5::text[]) AS g (did, version, status)),
stated AS (
  UPDATE catalogue_card c SET peer_status = g.status, peer_status_version = g.version,
    status = CASE WHEN $6 = 'enforce' THEN g.status ELSE 'active' END
  FROM given g WHERE c.did = g.did AND (c.source_registry = $2) IS TRUE
    AND (c.peer_status <> g.status OR $7)
    AND g.version > coalesce(c.peer_status_version, -1) AND g.version >= coalesce(c.peer_version, -1)
  RETURNING c.did, g.version, g.status
)
INSERT INTO catalogue_applied_act (peer_id, agent_did, version, act, mode, position)
SELECT $1, did, version, CASE status WHEN 'active' THEN 'reinstated' ELSE status END, $6, plumbing_position()
FROM stated ORDER BY did RETURNING act
"""

# An act on an agent that has no mirror here hides nothing and is receipted: its home cannot know who mirrors what.
_ACKNOWLEDGE = f"""
INSERT INTO catalogue_applied_act (peer_id, agent_did, version, act, mode, position)
SELECT $1, g.did, g.version, CASE g.status WHEN 'active' THEN 'reinstated' ELSE g.status END, $5, plumbing_position()
FROM unnest($2::text[], $3::bigint[], $4::text[]) AS g (did, version, status)
WHERE NOT EXISTS (SELECT FROM catalogue_card c WHERE c.did = g.did)
  AND (SELECT count(*) FROM catalogue_applied_act WHERE peer_id = $1) < {ACKNOWLEDGED_MAX}
"""  # noqa: S608

_SETTLE_STATUSES = """
UPDATE catalogue_card SET status = CASE WHEN $1 = 'enforce' THEN peer_status ELSE 'active' END
WHERE source_registry IS NOT NULL AND (peer_status <> 'active' OR status <> 'active')
  AND status <> CASE WHEN $1 = 'enforce' THEN peer_status ELSE 'active' END
"""

_REMOVE_ABSENT = """
DELETE FROM catalogue_card c WHERE c.source_registry = $1 AND c.is_active AND NOT c.unlisted
  AND starts_with(encode(sha256(convert_to(c.did, 'UTF8')), 'hex'), $2) AND c.did <> ALL ($3::text[]) RETURNING 1
"""


async def begin(tx: Tx, peer_ids: Sequence[int]) -> None:
    """Let these peers be read from now on; those that are read already stay as they are."""
    await tx.execute(_BEGIN, peer_ids)


async def progress(tx: Tx, peer_id: int) -> Progress | None:
    """How far a peer was read, or None where nothing is read from it."""
    row = await tx.fetchrow(_PROGRESS, peer_id)
    return None if row is None else Progress(**row)


async def has_read_acts(tx: Tx, peer_id: int, place: str) -> bool:
    """Return whether the acts of the peer were read up to this place."""
    found = await progress(tx, peer_id)
    return found is not None and found.acts_next == place


async def lock(tx: Tx, peer_id: int) -> None:
    """Prevent others from applying items of the peer, and from ending its mirrors, before `tx` ends."""
    await tx.execute(_LOCK, peer_id)


async def move_cards(tx: Tx, peer_id: int, since: str | None, page: JudgedPage) -> bool:
    """Move the place of the cards; False where another process has moved it, or the peer is gone."""
    moved = await tx.fetchval(_MOVE_CARDS, peer_id, since, page.next, page.epoch, page.export_version)
    return moved is not None


async def move_acts(tx: Tx, peer_id: int, since: str | None, place: str) -> bool:
    """Move the place of the acts; False where another process has moved it, or the peer is gone."""
    return await tx.fetchval(_MOVE_ACTS, peer_id, since, place) is not None


async def set_page_size(tx: Tx, peer_id: int, size: int) -> None:
    """How many cards the next page is to have."""
    await tx.execute(_SET_PAGE_SIZE, peer_id, size)


async def begin_anew(
    tx: Tx, peer_id: int, source_registry: str, page: JudgedPage, *, is_restored: bool
) -> None:
    """Read the peer from the start; after a restore there its versions count from nothing."""
    await tx.execute(_BEGIN_ANEW, peer_id, page.epoch, page.export_version)
    if is_restored:
        await tx.execute(_FORGET_VERSIONS, source_registry)


async def note_reconciled(tx: Tx, peer_id: int) -> None:
    """The mirrors of the peer were compared with its cards now."""
    await tx.execute(_NOTE_RECONCILED, peer_id)


async def reconcile_all(tx: Tx) -> None:
    """Let every peer be read and compared at once."""
    await tx.execute(_RECONCILE_ALL)


async def due_cards(tx: Tx, within_seconds: float) -> list[CardsDue]:
    """The peers whose cards are due now or so soon."""
    return [CardsDue(**row) for row in await tx.fetch(_DUE_CARDS, within_seconds)]


async def put_off_cards(tx: Tx, peer_ids: Sequence[int], seconds: int) -> None:
    """Let the cards of these peers be due after so many seconds."""
    await tx.execute(_PUT_OFF_CARDS, peer_ids, seconds)


async def take_due_acts(tx: Tx, every: int) -> bool:
    """Return whether acts are due to be looked for; they are due again after the interval."""
    return bool(await tx.fetch(_DUE_ACTS, every))


async def acts_places(tx: Tx) -> dict[int, str | None]:
    """Up to where the acts of each peer were read, by its id; None before the first page."""
    return {row["peer_id"]: row["acts_next"] for row in await tx.fetch(_ACTS_PLACES)}


async def forget(tx: Tx, peer_id: int) -> None:
    """Forget how far a peer was read, and which of its acts were to be receipted."""
    await tx.execute(_FORGET, peer_id)
    await tx.execute(_FORGET_APPLIED, peer_id)


async def state(
    tx: Tx, peer_id: int, source_registry: str, stated: Sequence[Stated], mode: str, *, are_acts: bool
) -> list[str]:
    """Keep the statuses that are new, to be receipted; returns the acts that they were.

    In the feed of acts every newer version is one, also where the act before it was never read. `stated` is not empty.
    """
    columns = [list(column) for column in zip(*stated, strict=True)]
    rows = await tx.fetch(_STATE, peer_id, source_registry, *columns, mode, are_acts)
    if are_acts:
        await tx.execute(_ACKNOWLEDGE, peer_id, *columns, mode)
    return [row["act"] for row in rows]


async def settle_statuses(tx: Tx, mode: str) -> None:
    """Give mirrors the status that the mode asks for."""
    await tx.execute(_SETTLE_STATUSES, mode)


async def remove_absent(tx: Tx, source_registry: str, prefix: str, present: Sequence[str]) -> int:
    """Delete the listed mirrors whose DIDs hash to the prefix and are not among these; returns how many."""
    return len(await tx.fetch(_REMOVE_ABSENT, source_registry, prefix, present))
