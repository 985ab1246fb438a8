"""The SQL that ends accounts. Emptiness is part of the condition: a transfer that comes first is waited for and seen."""

from hansa.foundation.plumbing.database import Tx

_CLOSE = """
UPDATE ledger_account SET status = 'suspended', closed_at = coalesce(closed_at, now())
WHERE did = $1 AND kind = 'agent' AND liquid = 0 AND staked = 0 AND escrow = 0 RETURNING 1
"""


async def close_if_empty(tx: Tx, did: str) -> bool:
    """Whether the account was empty and takes no part in transfers any more."""
    return await tx.fetchval(_CLOSE, did) is not None
