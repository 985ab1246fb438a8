"""Drop signed statements that nothing rests on any more, in the order of the own chain.

- Of a transfer whose receipt is here, after CROSSING_RETENTION_DAYS, and after the totals that include it agreed, signed by both registries.
- Dropped are the receipt, and the promise of a transfer that was aborted: no message bears them again. The promise and the COMMIT of a committed
  transfer, and an ABORT, stay on the side that does not bear their signature: a registry that is restored to a backup of any age is convinced by its own
  signature alone (Specification 6 W 11).
- Dropped is the text. The row stays: a repeated message gets its answer, and the parties read it.
"""

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from functools import partial
from itertools import takewhile

from hansa.foundation.plumbing.jobs import scheduled
from hansa.foundation.plumbing.process.runtime import Runtime, Slot
from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import federation

from . import dropping_store, store

EVERY_SECONDS = 600.0
AT_ONCE = 2000
MARGIN = timedelta(hours=1)
"""A row that was written before the totals were read may have been committed after that, but not an hour later."""

TOTALS_AGREED: Slot[Callable[[Tx, str], Awaitable[datetime | None]]] = Slot(
    "transfers: when the totals of a corridor agreed last"
)
"""By the ledger id of the peer; None where they never did."""


async def drop_statements(runtime: Runtime) -> None:
    """The job: go on through the chain of each pair as far as may be."""
    for peer in await runtime.database.query(store.peers):
        while await _drop_some(runtime, peer):
            pass


async def _drop_some(runtime: Runtime, peer: str) -> bool:
    """Return whether there may be more to drop."""
    before = await runtime.database.query(lambda tx: _before(tx, runtime, peer))
    if before is None:
        return False
    entries = await runtime.database.query(
        partial(dropping_store.entries, peer=peer, before=before, most=AT_ONCE)
    )
    done = list(takewhile(lambda entry: entry.is_done, entries))
    if done:
        await runtime.database.transaction(lambda tx: dropping_store.drop(tx, peer, done))
    return len(done) == AT_ONCE


async def _before(tx: Tx, runtime: Runtime, peer: str) -> datetime | None:
    """Transfers whose receipt came before this moment may lose statements; None: none of them."""
    record = await federation.peer_by_spiffe_id(tx, peer)
    if record is None or record.ledger_id is None:
        return None
    agreed = await TOTALS_AGREED.of(runtime)(tx, record.ledger_id)
    if agreed is None:
        return None
    now = datetime.fromtimestamp(await clock.seconds(tx), agreed.tzinfo)
    return min(agreed - MARGIN, now - timedelta(days=runtime.settings.crossing_retention_days))


DROPPING = scheduled("transfers: drop old statements", EVERY_SECONDS, drop_statements)
