"""SQL of the firm quotes of a caller: each takes one of a few slots until it is used or over."""

from datetime import datetime
from uuid import UUID

from hansa.foundation.plumbing.storage.database import Tx

# Taken under a lock of the caller; a slot whose quote is over is taken again.
_TAKE_QUOTE_SLOT = """
INSERT INTO commerce_firm_quote AS q (caller, slot, quote_id, expires_at)
SELECT $1, n, $2, $3 FROM generate_series(1, $4) n
WHERE NOT EXISTS (SELECT FROM commerce_firm_quote o WHERE o.caller = $1 AND o.slot = n AND o.expires_at > clock_timestamp())
ORDER BY n LIMIT 1
ON CONFLICT (caller, slot) DO UPDATE SET quote_id = excluded.quote_id, expires_at = excluded.expires_at
  WHERE q.expires_at <= clock_timestamp()
RETURNING slot
"""

_SECONDS_TO_QUOTE_SLOT = """
SELECT ceil(extract(epoch FROM min(expires_at) - clock_timestamp()))::int FROM commerce_firm_quote
WHERE caller = $1 AND expires_at > clock_timestamp()
"""


async def take_quote_slot(tx: Tx, caller: str, quote_id: UUID, expires_at: datetime, most: int) -> bool:
    """Return whether the caller has a slot for a firm quote, of so many."""
    await tx.execute(
        "SELECT pg_advisory_xact_lock(hashtextextended('commerce firm quotes ' || $1, 0))", caller
    )
    return await tx.fetchval(_TAKE_QUOTE_SLOT, caller, quote_id, expires_at, most) is not None


async def seconds_to_quote_slot(tx: Tx, caller: str) -> int:
    """Seconds until the first firm quote of a caller is over."""
    return max(1, await tx.fetchval(_SECONDS_TO_QUOTE_SLOT, caller) or 1)


async def free_quote_slot(tx: Tx, caller: str, quote_id: UUID) -> None:
    """A quote that is used counts no more."""
    await tx.execute("DELETE FROM commerce_firm_quote WHERE caller = $1 AND quote_id = $2", caller, quote_id)
