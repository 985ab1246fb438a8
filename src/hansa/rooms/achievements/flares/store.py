"""Every SQL statement of flares. A flare is bought once (primary key); a selection references bought flares alone."""

from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import catalogue

from .prices import Flare

_ADD = """
INSERT INTO achievements_flare (agent_did, variant, slot, price, tx_id) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (agent_did, variant) DO NOTHING RETURNING 1
"""
_FLARES = """
SELECT ARRAY(SELECT variant FROM achievements_flare WHERE agent_did = $1 ORDER BY variant), s.corner, s.encirclement, s.overlay
FROM (SELECT) one LEFT JOIN achievements_selection s ON s.agent_did = $1
"""
_SELECT = """
INSERT INTO achievements_selection (agent_did, corner, encirclement, overlay) VALUES ($1, $2, $3, $4)
ON CONFLICT (agent_did) DO UPDATE
SET corner = excluded.corner, encirclement = excluded.encirclement, overlay = excluded.overlay
"""


async def owned(tx: Tx, did: str) -> dict[str, str]:
    """The slots of the flares that the agent bought, by variant."""
    rows = await tx.fetch(
        "SELECT variant, slot FROM achievements_flare WHERE agent_did = $1 ORDER BY variant", did
    )
    return {row["variant"]: row["slot"] for row in rows}


async def flares(tx: Tx, did: str) -> tuple[tuple[str, ...], catalogue.Flares]:
    """The flares that the agent bought, and those that it shows."""
    row = await tx.fetchrow(_FLARES, did)
    assert row is not None
    variants, *selected = row
    return tuple(variants), catalogue.Flares(*selected)


async def add(tx: Tx, did: str, flare: Flare, tx_id: int) -> bool:
    """Write a flare that the agent bought by this transaction of the ledger; False if it has the flare already."""
    return await tx.fetchval(_ADD, did, flare.variant, flare.slot, flare.price, tx_id) is not None


async def select(tx: Tx, did: str, chosen: catalogue.Flares) -> None:
    """Write the flares that the agent shows; a selection of the same agent waits for the end of the transaction."""
    await tx.execute(_SELECT, did, chosen.corner, chosen.encirclement, chosen.overlay)
