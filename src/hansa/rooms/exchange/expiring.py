"""The term of a listing ends: its points are void from that commit on, its orders end, and its revenue is levied once more."""

from hansa.foundation.events import ListingExpired
from hansa.foundation.plumbing.jobs import Job, PutOff, Retries, TransactionalKind, enqueue
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import journal

from . import store
from .revenue.store import end_term
from .trading import ENDED

EXPIRY = "exchange: expire listings"


async def _expire(tx: Tx, _: Runtime, job: Job) -> None:
    listing = await store.lock(tx, job.key)
    assert listing is not None, "a listing is never deleted"
    if listing.ends_at is None or listing.ends_at > listing.now:
        raise PutOff("The term of the listing has yet to end.")
    if listing.status == "LAUNCHING":
        raise PutOff("The launch of the listing has yet to be settled.")
    if await end_term(tx, listing.ref):
        # A listing that was delisted stays so.
        await store.move(tx, listing.ref, ("TRADING", "HALTED"), "EXPIRED")
        await enqueue(tx, ENDED, listing.ref)
        await journal.append(tx, ListingExpired(listing.ref, listing.treasury_did))


EXPIRE_LISTINGS = TransactionalKind(EXPIRY, _expire, retries=Retries(None, 60.0, 3600.0))
