"""SQL of signed cards: the state that decides whether an export is still the one that was signed."""

from datetime import timedelta

from hansa.foundation.plumbing.storage.database import Tx

from .records import ExportedState

_STATE = """
SELECT id AS card_id, changed_xid, updated_at, card_bytes, CASE WHEN status = 'revoked' THEN hidden_since END AS revoked_at
FROM catalogue_card WHERE did = $1 AND source_registry IS NULL
"""


_IS_EXPORTED = """
SELECT NOT (status = 'revoked' AND hidden_since < now() - $2::interval)
FROM catalogue_card WHERE did = $1 AND source_registry IS NULL
"""


async def is_exported(tx: Tx, did: str, tombstone_time: timedelta) -> bool:
    """Return whether the card of an own agent is exported: until so long after the agent was revoked."""
    return bool(await tx.fetchval(_IS_EXPORTED, did, tombstone_time))


async def exported_state(tx: Tx, did: str) -> ExportedState | None:
    """The state of an own agent's card, or None for an unknown DID and for a mirror."""
    row = await tx.fetchrow(_STATE, did)
    return None if row is None else ExportedState(**row)
