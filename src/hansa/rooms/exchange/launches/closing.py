"""A launch closes: one commit fixes the allocation and the holders, or frees everybody where too little was raised.

What the holds have is captured or released by the settlement that follows (`settling.py`).
"""

from uuid import UUID

from hansa.foundation.events import LaunchClosed
from hansa.foundation.plumbing.jobs import Job, PutOff, Retries, TransactionalKind, enqueue
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import format_amount
from hansa.rooms import journal
from hansa.rooms.exchange import rules
from hansa.rooms.exchange import store as listings
from hansa.rooms.exchange.expiring import EXPIRY
from hansa.rooms.exchange.records import Listing
from hansa.rooms.exchange.revenue import store as revenue

from . import store
from .allocating import allocated
from .settling import SETTLEMENT

CLOSING = "exchange: close launches"


async def close(tx: Tx, listing: Listing) -> None:
    """Close the launch of a locked listing: it has sold points, or it has failed."""
    found = await store.subscribed(tx, listing.ref)
    points = allocated(listing.total, [row["qty"] for row in found])
    sold = sum(points)
    if sold == 0 or sold * listing.price < listing.min_raise:
        await fail(tx, listing)
        return
    given = [(row, count) for row, count in zip(found, points, strict=True) if count]
    none = [row["id"] for row, count in zip(found, points, strict=True) if not count]
    await store.launch(tx, listing.ref, sold)
    await revenue.begin(tx, listing.ref)
    dids, counts = [row["agent_did"] for row, _ in given], [count for _, count in given]
    await store.issue(tx, listing.ref, dids, counts, listing.price)
    await store.fix(tx, listing.ref, [row["id"] for row, _ in given], counts, "allocated")
    await _free(tx, listing, none)
    launched = await listings.find(tx, listing.ref)
    assert launched is not None
    assert launched.ends_at is not None
    await enqueue(tx, SETTLEMENT, listing.ref)
    await enqueue(tx, EXPIRY, listing.ref, due_at=launched.ends_at)
    await journal.append(tx, _closed(listing, sold))


async def fail(tx: Tx, listing: Listing) -> None:
    """End a locked listing whose launch has sold nothing; every subscription is freed."""
    await end_launch(tx, listing)
    failed = await listings.move(tx, listing.ref, ("APPROVED", "LAUNCHING"), "FAILED")
    assert failed is not None, "a locked listing is in the state that was judged"
    await journal.append(tx, _closed(listing, 0))


async def end_launch(tx: Tx, listing: Listing) -> None:
    """Free every subscription of a locked listing. Raises: ListingState, once the allocation is fixed."""
    if listing.launched_at is not None:
        raise rules.wrong_state(listing)
    await _free(tx, listing, [row["id"] for row in await store.subscribed(tx, listing.ref)])
    await enqueue(tx, SETTLEMENT, listing.ref)


async def _free(tx: Tx, listing: Listing, ids: list[UUID]) -> None:
    await store.fix(tx, listing.ref, ids, [0] * len(ids), "failed")


async def _close(tx: Tx, _: Runtime, job: Job) -> None:
    listing = await listings.lock(tx, job.key)
    assert listing is not None, "a listing is never deleted"
    if listing.status != "LAUNCHING" or listing.launched_at is not None:
        return
    if listing.closes_at > listing.now:
        raise PutOff("The launch has yet to close.")
    await close(tx, listing)


def _closed(listing: Listing, sold: int) -> LaunchClosed:
    return LaunchClosed(listing.ref, listing.treasury_did, format_amount(listing.price), sold)


CLOSE_LAUNCHES = TransactionalKind(CLOSING, _close, retries=Retries(None, 1.0, 60.0))
