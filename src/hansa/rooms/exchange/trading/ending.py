"""End open orders: all of an agent at a listing, at their expiry, or because their agent or their listing is stopped. Each is a command to the book."""

from collections.abc import Mapping, Sequence

from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import Minor
from hansa.rooms import agents, journal, ledger
from hansa.rooms.exchange import store as listings
from hansa.rooms.exchange.errors import ListingUnknown
from hansa.rooms.exchange.matching import Book, End, Ended, apply
from hansa.rooms.exchange.matching.commands import EndedByCommand
from hansa.rooms.exchange.records import Listing

from . import store
from .recording import book_changed, order_ended
from .records import Order
from .settling import settle

AT_ONCE = 200


async def lock_listing(tx: Tx, ref: str) -> Listing:
    """A listing under its lock, behind which its numbers are drawn and its orders change. Raises: ListingUnknown."""
    listing = await listings.lock(tx, ref)
    if listing is None:
        raise ListingUnknown
    return listing


async def cancel_all(tx: Tx, agent_did: str, ref: str, settings: Settings) -> int:
    """Cancel the open orders of an agent at a listing; returns how many. Raises: ListingUnknown."""
    listing = await lock_listing(tx, ref)
    return await end_all(tx, listing, await store.open_of(tx, ref, agent_did), "cancelled", settings)


async def end_of_agent(tx: Tx, agent_did: str, ref: str, settings: Settings) -> int:
    """End the open orders of a suspended or revoked agent at a listing; returns how many."""
    listing = await lock_listing(tx, ref)
    return await end_all(tx, listing, await store.open_of(tx, ref, agent_did), "suspended", settings)


async def end_of_listing(tx: Tx, ref: str, settings: Settings) -> int:
    """End some open orders of a listing that has ended; returns how many."""
    listing = await lock_listing(tx, ref)
    because: EndedByCommand = "expired" if listing.status == "EXPIRED" else "delisted"
    return await end_all(tx, listing, await store.open_at(tx, ref, AT_ONCE), because, settings)


async def expire_due(tx: Tx, listing: Listing, settings: Settings) -> int:
    """End orders of a locked listing whose time has passed; returns how many."""
    due = await store.due(tx, listing.ref, AT_ONCE)
    return await end_all(tx, listing, due, "expired", settings)


async def end_all(
    tx: Tx, listing: Listing, orders: Sequence[Order], because: EndedByCommand, settings: Settings
) -> int:
    """End these open orders of a locked listing, each by a command of its own."""
    if not orders:
        return 0
    before = await store.drawn(tx, listing.ref)
    book = Book(before, sorted((order.resting for order in orders), key=lambda resting: resting.seq))
    events = []
    for order in orders:
        ended = apply(book, End(book.seq + 1, order.seq, because))
        book.advance(ended)
        events += [event for event in ended if isinstance(event, Ended)]
    by_seq = {order.seq: order for order in orders}
    await settle(tx, listing, [events], by_seq, ledger.Book.of(settings))
    await close(tx, listing.ref, events, by_seq)
    await store.move_on(tx, listing.ref, before, book.seq, None)
    changed = book_changed(listing, before, book.seq, orders, ())
    await journal.append(tx, *(order_ended(by_seq[event.order], event) for event in events), changed)
    return len(events)


async def close(tx: Tx, ref: str, events: Sequence[Ended], orders: Mapping[int, Order]) -> None:
    """Write the ends of orders that rested, and give their budgets back what was not paid."""
    await store.end(tx, ref, events)
    for event in events:
        order = orders[event.order]
        is_counted = order.is_counted or order.capability_id or order.grant_id
        if order.side == "buy" and order.price is not None and is_counted:
            await agents.return_budget(
                tx,
                order.agent_did,
                agents.HeldBudget(order.is_counted, order.capability_id, order.grant_id),
                Minor(event.remaining * order.price),
                held_at=order.created_at,
                is_unused=event.remaining == order.qty,
            )
