"""A launch opens at its time, once the authorization of `exchange.ipo` is there where the operator declared the act.

A job opens it; a subscription that comes before the job does so too, and its refusal names what is missing. A launch that did not open before its
end has failed.
"""

from hansa.foundation.plumbing.jobs import Job, PutOff, Retries, TransactionalKind, enqueue
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.errors import Refused
from hansa.rooms import federation
from hansa.rooms.exchange import rules
from hansa.rooms.exchange import store as listings
from hansa.rooms.exchange.records import Listing

from . import store
from .closing import CLOSING, fail

OPENING = "exchange: open launches"


async def open_if_due(tx: Tx, listing: Listing, runtime: Runtime) -> Listing:
    """Open the launch of a locked listing if its time has come. Raises: ExchangeDisabled, ActParked, AuthorizationsUnreadable."""
    if listing.status != "APPROVED" or not listing.opens_at <= listing.now < listing.closes_at:
        return listing
    rules.require_enabled(runtime.settings)
    contracts = federation.ATTESTED_CONTRACT.of(runtime)
    await federation.require_cleared(tx, runtime.settings, "exchange.ipo", listing.ref, contracts)
    if await store.open_launch(tx, listing.ref):
        await enqueue(tx, CLOSING, listing.ref, due_at=listing.closes_at)
    found = await listings.find(tx, listing.ref)
    assert found is not None, "a listing is never deleted"
    return found


async def _open(tx: Tx, runtime: Runtime, job: Job) -> None:
    listing = await listings.lock(tx, job.key)
    assert listing is not None, "a listing is never deleted"
    if listing.status == "APPROVED" and listing.closes_at <= listing.now:
        await fail(tx, listing)
        return
    try:
        opened = await open_if_due(tx, listing, runtime)
    except Refused as parked:
        raise PutOff(parked.detail) from parked
    if opened.status == "APPROVED":
        raise PutOff("The launch has yet to open.")


OPEN_LAUNCHES = TransactionalKind(OPENING, _open, retries=Retries(None, 10.0, 300.0))
