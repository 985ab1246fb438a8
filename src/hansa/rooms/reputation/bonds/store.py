"""Every SQL statement of bonds. An act locks the row of the bond first, then holds and accounts."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import ZERO, Minor
from hansa.rooms import ledger

from .bond import Bond, State

_MAKE = "INSERT INTO reputation_bond (agent_did) VALUES ($1) ON CONFLICT DO NOTHING"

_LOCK = "SELECT FROM reputation_bond WHERE agent_did = $1 FOR NO KEY UPDATE"

_SHARE = "SELECT state FROM reputation_bond WHERE agent_did = $1 FOR SHARE"

_FIND = """
SELECT id, state, hold_id, matures_at, releasable_at, clock_timestamp() AS now
FROM (VALUES (true)) one LEFT JOIN reputation_bond ON agent_did = $1
"""

_HOLDS_OF = "SELECT agent_did, hold_id FROM reputation_bond WHERE agent_did = ANY ($1) AND hold_id IS NOT NULL ORDER BY id"

_SAVE = """
UPDATE reputation_bond SET state = $4, hold_id = $5, matures_at = $6, releasable_at = $7
WHERE agent_did = $1 AND state = $2 AND hold_id IS NOT DISTINCT FROM $3 RETURNING 1
"""


async def lock_new(tx: Tx, did: str) -> Bond:
    """The bond of an agent as it is once no other act has it, with a row from now on."""
    await tx.execute(_MAKE, did)
    return await lock(tx, did)


async def lock(tx: Tx, did: str) -> Bond:
    """The bond of an agent, as it is once no other act has it."""
    await tx.execute(_LOCK, did)
    return await find(tx, did)


async def share_state(tx: Tx, did: str) -> State:
    """The state of a bond, which no act changes before the transaction ends."""
    return State(await tx.fetchval(_SHARE, did) or State.NONE)


async def find(tx: Tx, did: str) -> Bond:
    """The bond of an agent; one in the state none where it never had any."""
    row = await tx.fetchrow(_FIND, did)
    assert row is not None
    members: dict[str, Any] = {**row, "state": State(row["state"] or State.NONE)}
    held = None if row["hold_id"] is None else await ledger.read_hold(tx, row["hold_id"])
    return Bond(did, amount=held.remaining if held else ZERO, **members)


async def amounts_of(tx: Tx, dids: Sequence[str]) -> dict[str, Minor]:
    """The units in the bonds of these agents, by DID; an agent whose bond has no hold is absent."""
    holds = {row["agent_did"]: row["hold_id"] for row in await tx.fetch(_HOLDS_OF, dids)}
    left = await ledger.remaining_in(tx, holds.values()) if holds else {}
    return {did: left[hold_id] for did, hold_id in holds.items()}


async def save(tx: Tx, before: Bond, after: Bond) -> bool:
    """Write a move; whether the bond was still as it is moved from."""
    times: tuple[datetime | None, ...] = (after.matures_at, after.releasable_at)
    saved = await tx.fetchval(
        _SAVE, before.agent_did, before.state, before.hold_id, after.state, after.hold_id, *times
    )
    return saved is not None
