"""Amounts that crossed up to a place of a chain: for totals that two registries compare while units cross.

A credit and its receipt's entry in the chain are one commit, and the receipt bears the place of that entry. So the units that
the peer had credited at a place of its chain are those whose receipts bear this place or an earlier one.
"""

from datetime import datetime

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import Minor

from .messages import Place

# Swaps are no part of the totals. Receipts of before places were stated come before every place.
_CONFIRMED = """
SELECT coalesce(sum(amount), 0)::numeric FROM transfers_sent
WHERE peer = $1 AND state = 'committed' AND receipt IS NOT NULL AND currency_received IS NULL
  AND (receipt_epoch, receipt_seq) > ($2, $3) AND (receipt_epoch, receipt_seq) <= ($4, $5)
"""

_CONFIRMED_WITHOUT_PLACE = """
SELECT coalesce(sum(amount), 0)::numeric FROM transfers_sent
WHERE peer = $1 AND state = 'committed' AND receipt IS NOT NULL AND currency_received IS NULL AND receipt_epoch IS NULL
"""

_UNCONFIRMED = """
SELECT coalesce(sum(amount), 0)::numeric FROM transfers_sent
WHERE peer = $1 AND next_at IS NOT NULL AND state = 'committed' AND receipt IS NULL AND currency_received IS NULL
  AND decided_at < $2
"""


async def place_of(tx: Tx, peer: str) -> Place | None:
    """Return the last place of the own chain for this peer; None where nothing ever crossed."""
    row = await tx.fetchrow("SELECT own_epoch, own_seq FROM transfers_pair WHERE peer = $1", peer)
    return None if row is None else (row["own_epoch"], row["own_seq"])


async def confirmed_between(tx: Tx, peer: str, after: Place | None, through: Place) -> Minor:
    """Return the units that were sent and the peer credited after one place of its chain, None: ever, up to another."""
    amount = await tx.fetchval(_CONFIRMED, peer, *(after or (0, 0)), *through)
    if after is None:
        amount += await tx.fetchval(_CONFIRMED_WITHOUT_PLACE, peer)
    return Minor(int(amount))


async def unconfirmed_before(tx: Tx, peer: str, timestamp: datetime) -> Minor:
    """Return the units that were committed before this timestamp and the peer has not confirmed."""
    return Minor(int(await tx.fetchval(_UNCONFIRMED, peer, timestamp)))
