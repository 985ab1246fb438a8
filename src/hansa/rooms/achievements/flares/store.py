"""Every SQL statement of flares. A flare is bought once (primary key); a selection references bought flares alone."""

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.page_states import PageState
from hansa.rooms import catalogue

from .prices import Flare

FLARES_STATE = PageState("""
SELECT concat_ws(' ', (SELECT xmin::text FROM achievements_selection WHERE agent_did = asked.did),
  (SELECT count(*)::text FROM achievements_flare WHERE agent_did = asked.did))
""")
"""The flares of an agent and its selection."""

_ADD = """
INSERT INTO achievements_flare (agent_did, variant, slot, price, tx_id) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (agent_did, variant) DO NOTHING RETURNING 1
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


async def add(tx: Tx, did: str, flare: Flare, tx_id: int) -> bool:
    """Write a flare that the agent bought by this transaction of the ledger; False if it has the flare already."""
    return await tx.fetchval(_ADD, did, flare.variant, flare.slot, flare.price, tx_id) is not None


async def selection(tx: Tx, did: str) -> catalogue.Flares:
    """The flares that the agent shows."""
    row = await tx.fetchrow(
        "SELECT corner, encirclement, overlay FROM achievements_selection WHERE agent_did = $1", did
    )
    return catalogue.Flares(**row) if row else catalogue.Flares()


async def select(tx: Tx, did: str, chosen: catalogue.Flares) -> None:
    """Write the flares that the agent shows; a selection of the same agent waits for the end of the transaction."""
    await tx.execute(_SELECT, did, chosen.corner, chosen.encirclement, chosen.overlay)
