"""Every SQL statement about acts that peers have to apply, and about receipts on both sides."""

from collections.abc import Sequence
from datetime import datetime

from hansa.foundation.plumbing.storage.database import Tx

from .records import AppliedAct, Notice, Receipt

_COLUMNS = """agent_did, version, ledger_id, peer_name, act, acted_at, notified_at, received_at, receipt, receipt_mode, applied_at, log_position"""

# The card as it is now: of acts that follow each other at once, peers read the last alone.
_NOTE = """
INSERT INTO catalogue_act_notice (agent_did, version, peer_id, ledger_id, peer_name, act, acted_at)
SELECT c.did, coalesce(c.status_version, c.item_version, c.changed_xid), p.peer_id, p.ledger_id, p.peer_name,
  CASE c.status WHEN 'active' THEN 'reinstated' ELSE c.status END, c.updated_at
FROM catalogue_card c, unnest($2::bigint[], $3::text[], $4::text[]) AS p (peer_id, ledger_id, peer_name)
WHERE c.did = $1 AND c.source_registry IS NULL
ON CONFLICT DO NOTHING
"""

_NOTE_NOTIFIED = """
UPDATE catalogue_act_notice SET notified_at = clock_timestamp()
WHERE peer_id = $1 AND received_at IS NULL AND notified_at IS NULL AND acted_at <= $2
"""

# A receipt of a later version says that the earlier act no longer counts at the peer either.
_RECEIVE = """
UPDATE catalogue_act_notice SET received_at = clock_timestamp(), receipt = $4, receipt_mode = $5, applied_at = $6,
  log_position = $7
WHERE agent_did = $1 AND version <= $2 AND peer_id = $3 AND received_at IS NULL RETURNING 1
"""

# A peer may have read the act before it was noted that the peer has to apply it.
_RECEIVE_EARLY = """
INSERT INTO catalogue_act_notice AS n (agent_did, version, peer_id, ledger_id, peer_name, act, acted_at, received_at, receipt,
  receipt_mode, applied_at, log_position)
SELECT c.did, c.status_version, $3, $8, $9, CASE c.status WHEN 'active' THEN 'reinstated' ELSE c.status END, c.updated_at,
  clock_timestamp(), $4, $5, $6, $7
FROM catalogue_card c WHERE c.did = $1 AND c.source_registry IS NULL AND c.status_version <= $2
ON CONFLICT (agent_did, version, ledger_id) DO UPDATE SET received_at = excluded.received_at, receipt = excluded.receipt,
  receipt_mode = excluded.receipt_mode, applied_at = excluded.applied_at, log_position = excluded.log_position
WHERE n.received_at IS NULL RETURNING 1
"""

_OF_AGENT = f"""
SELECT {_COLUMNS}, count(*) OVER () AS total FROM catalogue_act_notice WHERE agent_did = $1
ORDER BY version DESC, ledger_id LIMIT $2 OFFSET $3
"""  # noqa: S608

_COUNT_OF_AGENT = "SELECT count(*) FROM catalogue_act_notice WHERE agent_did = $1"

_PEERS_TO_RECEIPT = "SELECT DISTINCT peer_id FROM catalogue_applied_act WHERE receipted_at IS NULL"

_DUE = """
SELECT id, agent_did, version, act, mode, applied_at, position FROM catalogue_applied_act
WHERE peer_id = $1 AND receipted_at IS NULL ORDER BY id LIMIT $2
"""

_NOTE_RECEIPTED = "UPDATE catalogue_applied_act SET receipted_at = now() WHERE id = ANY ($1::bigint[])"

_FORGET_RECEIPTED = """
DELETE FROM catalogue_applied_act WHERE receipted_at < now() - $1 * interval '1 day'
"""


async def note(
    tx: Tx, did: str, peer_ids: Sequence[int], ledger_ids: Sequence[str], names: Sequence[str]
) -> None:
    """Let these peers have to apply the present status of an own agent."""
    await tx.execute(_NOTE, did, peer_ids, ledger_ids, names)


async def note_notified(tx: Tx, peer_id: int, begun: datetime) -> None:
    """The peer was notified now of everything that had happened before `begun`."""
    await tx.execute(_NOTE_NOTIFIED, peer_id, begun)


async def receive(tx: Tx, peer_id: int, ledger_id: str, peer_name: str, receipt: Receipt) -> bool:
    """Keep the receipt of a peer with the notice that it had to apply; False where it had nothing to apply."""
    said = (receipt.jws, receipt.mode, receipt.applied_at, receipt.log_position)
    known = (receipt.agent_did, receipt.version, peer_id, *said)
    return bool(
        await tx.fetch(_RECEIVE, *known) or await tx.fetch(_RECEIVE_EARLY, *known, ledger_id, peer_name)
    )


async def of_agent(tx: Tx, did: str, limit: int, offset: int) -> tuple[list[Notice], int]:
    """Return a page of the notices that peers had to apply of an agent, the newest act first, and how many there are."""
    rows = await tx.fetch(_OF_AGENT, did, limit, offset)
    total: int = rows[0]["total"] if rows else await tx.fetchval(_COUNT_OF_AGENT, did)
    return [Notice(**{name: value for name, value in row.items() if name != "total"}) for row in rows], total


async def peers_to_receipt(tx: Tx) -> list[int]:
    """The peers to which receipts are due."""
    return [row["peer_id"] for row in await tx.fetch(_PEERS_TO_RECEIPT)]


async def due_receipts(tx: Tx, peer_id: int, most: int) -> list[AppliedAct]:
    """The oldest acts of a peer whose receipt is not at the peer yet."""
    return [AppliedAct(**row) for row in await tx.fetch(_DUE, peer_id, most)]


async def note_receipted(tx: Tx, ids: Sequence[int]) -> None:
    """The receipts of these acts are at the peer."""
    await tx.execute(_NOTE_RECEIPTED, ids)


async def forget_receipted(tx: Tx, days: int) -> None:
    """Delete applied acts whose receipts have been at the peer for so many days."""
    await tx.execute(_FORGET_RECEIPTED, days)
