"""The holds of a closed launch are captured and released in batches, each hold once; trade opens after the last.

A batch is one transaction: holds, budgets and the marks of the subscriptions commit together, so that the job goes on where it was stopped.
"""

from hansa.foundation.plumbing.jobs import Job, LeasedKind, Retries
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import Minor
from hansa.rooms import agents, ledger
from hansa.rooms.exchange import rules
from hansa.rooms.exchange import store as listings
from hansa.rooms.exchange.records import Listing

from . import store
from .records import Subscription

SETTLEMENT = "exchange: settle launches"
BATCH = 200
"""Holds that end in one transaction."""


async def settle_batch(tx: Tx, ref: str, runtime: Runtime, most: int = BATCH) -> bool:
    """End the first holds of a closed launch; False when none is left."""
    listing = await listings.lock(tx, ref)
    assert listing is not None, "a listing is never deleted"
    found = await store.unsettled(tx, ref, most)
    for one in sorted(found, key=lambda one: one.agent_did):
        unpaid = Minor((one.qty - one.allocated) * listing.price)
        if unpaid:
            await agents.return_budget(
                tx, one.agent_did, one.budget, unpaid, held_at=one.created_at, is_unused=not one.allocated
            )
    if found:
        await store.settle(tx, [one.id for one in found])
        await ledger.apply(tx, [_end_of(listing, one) for one in found], ledger.Book.of(runtime.settings))
    if await store.has_unsettled(tx, ref):
        return True
    if listing.status == "LAUNCHING" and listing.launched_at is not None:
        await listings.move(tx, ref, ("LAUNCHING",), "TRADING")
    return False


def _end_of(listing: Listing, one: Subscription) -> ledger.Order:
    if not one.allocated:
        return ledger.orders.release(one.hold_id)
    assert listing.fee_bps is not None, "an approved listing has its fee"
    amount = Minor(one.allocated * listing.price)
    # The allocation is fixed; the status of the parties no longer counts.
    return ledger.orders.sale(
        one.hold_id,
        amount,
        rules.fee_of(amount, listing.fee_bps),
        payee=listing.treasury_did,
        tx_type="launch",
        final=True,
        active=ledger.orders.NOBODY,
    )


async def _settle(runtime: Runtime, job: Job) -> None:
    while await runtime.database.transaction(lambda tx: settle_batch(tx, job.key, runtime)):
        pass


SETTLE_LAUNCHES = LeasedKind(SETTLEMENT, _settle, at_once=2, retries=Retries(None, 1.0, 60.0))
