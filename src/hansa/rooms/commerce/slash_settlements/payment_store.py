"""The SQL of payments on which slashes of peers rest."""

from collections.abc import Sequence
from uuid import UUID

from hansa.foundation.plumbing.storage.database import Tx

_USED = "SELECT transfer_id FROM commerce_slashed_payment WHERE peer = $1 AND transfer_id = ANY ($2)"

_USE = """
INSERT INTO commerce_slashed_payment (peer, transfer_id, settlement_id) SELECT $1, id, $2 FROM unnest($3::uuid[]) AS id
ON CONFLICT DO NOTHING
"""


async def used(tx: Tx, peer: str, transfer_ids: Sequence[UUID]) -> frozenset[UUID]:
    """Those of the payments on which a slash rests."""
    return frozenset(row["transfer_id"] for row in await tx.fetch(_USED, peer, list(transfer_ids)))


async def use(tx: Tx, peer: str, settlement_id: int, transfer_ids: Sequence[UUID]) -> None:
    """Let the slash of a settlement rest on these payments."""
    await tx.execute(_USE, peer, settlement_id, list(transfer_ids))
