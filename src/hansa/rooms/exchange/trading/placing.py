"""Place an order: it is matched, paid and recorded in one commit, or nothing of it is.

- Locks: the row of the agent (shared), the listing, the policy and the budgets of the agent, holdings by DID, the ledger.
- Orders whose time has passed end before the order is matched.
- A maker that the ledger refuses is ended by a command of its own, and the order is judged anew, under a later number.
"""

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from hansa.foundation.plumbing.jobs import enqueue
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Agent
from hansa.foundation.values.money import ZERO, Minor
from hansa.rooms import agents, journal, ledger
from hansa.rooms.exchange.matching import Book, Ended, Event, Place, Refused, Rested, apply
from hansa.rooms.exchange.records import Listing
from hansa.rooms.exchange.rules import require_enabled

from . import rules, store
from .ending import close, end_all, expire_due, lock_listing
from .errors import ClientOrderIdUsed, OrderUnknown
from .reading import shown
from .recording import order_ended, order_placed, trades_executed
from .records import EXPIRY, NewOrder, Order, ShownOrder, placed_at
from .settling import MakerRefused, Settled, filled_by, record_trades, settle

PERMISSION = "exchange.trade"
_NOTHING_COUNTED = agents.HeldBudget(is_counted=False, capability_id=None)


class _Placing(msgspec.Struct, frozen=True):
    """An order that an agent places at a locked listing."""

    agent: Agent
    new: NewOrder
    listing: Listing
    settings: Settings

    def payment(self, amount: Minor) -> agents.Payment:
        """The order as a payment to the organization."""
        return agents.Payment(
            self.listing.treasury_did,
            amount,
            self.settings.settlement_currency,
            PERMISSION,
            PERMISSION,
            self.new.approval_id,
            self.new.capability_token,
            self.new.request_scope,
        )

    def order(self, seq: int, held: agents.HeldBudget) -> Order:
        """The order as it arrives."""
        new = self.new
        return Order(
            new.ref,
            seq,
            new.id,
            self.agent.did,
            self.agent.owner.name,
            new.side,
            new.qty,
            new.price,
            new.time_in_force,
            new.post_only,
            new.qty,
            None,
            new.client_order_id,
            new.digest,
            None,
            held.is_counted,
            held.capability_id,
            held.grant_id,
            self.listing.now,
        )


class _Match(msgspec.Struct, frozen=True):
    """Outcome of the matching: the command, its events, the book after them, and the orders that they name. `most` is what a buy can cost."""

    drawn: int
    command: Place
    events: list[Event]
    book: Book
    orders: dict[int, Order]
    most: Minor


async def place(tx: Tx, agent: Agent, new: NewOrder, settings: Settings) -> ShownOrder | agents.Approval:
    """Place an order, or ask the owner of its agent. An order with a client_order_id is placed once for ever.

    Raises: ExchangeDisabled, ClientOrderIdUsed, AgentSuspended, AgentRevoked, ListingUnknown, ListingHalted, ListingState,
    OrderTermsInvalid, TooManyOrders, OrderUnknown, OrderEnded, PostOnly, InsufficientPoints, the refusals of a payment,
    InsufficientBalance, AccountSuspended, AccountUnknown.
    """
    if (known := await _known(tx, agent.did, new)) is not None:
        return known
    require_enabled(settings)
    await agents.share_active(tx, agent.did)
    listing = await lock_listing(tx, new.ref)
    # The same request may have come first.
    if (known := await _known(tx, agent.did, new)) is not None:
        return known
    rules.require_trading(listing)
    rules.require_terms(new, listing.tick)
    await expire_due(tx, listing, settings)
    placing = _Placing(agent, new, listing, settings)
    while True:
        try:
            # Budgets that counted the order are as before where it is judged anew.
            async with tx.transaction():
                return await _placed(tx, placing)
        except MakerRefused as refused:
            await end_all(tx, listing, [refused.order], "suspended", settings)


async def _known(tx: Tx, agent_did: str, new: NewOrder) -> ShownOrder | None:
    """The order that the agent placed under this client_order_id. Raises: ClientOrderIdUsed."""
    if new.client_order_id is None:
        return None
    known = await store.find_by_client(tx, agent_did, new.client_order_id)
    if known is None:
        return None
    rules.require_same(known, new)
    return await shown(tx, known)


async def _placed(tx: Tx, placing: _Placing) -> ShownOrder | agents.Approval:
    match = await _matched(tx, placing)
    held = await _budget(tx, placing, match.most)
    order = placing.order(match.command.seq, held or _NOTHING_COUNTED)
    orders = {**match.orders, order.seq: order}
    book = ledger.Book.of(placing.settings)
    if held is None:
        # Nobody is asked about what could not be paid anyway.
        await settle(tx, placing.listing, match.events, orders, book, is_dry=True)
        return await agents.ask_owner(tx, placing.agent, placing.payment(match.most))
    settled = await settle(tx, placing.listing, match.events, orders, book)
    written = await _written(
        tx, placing.new.ttl_seconds, match.events, orders, _as_left(order, match, settled)
    )
    trades = await record_trades(tx, placing.listing, settled.trades)
    last_price = trades[-1].price if trades else None
    await store.move_on(tx, written.ref, match.drawn, match.book.seq, last_price)
    if unpaid := Minor(match.most - settled.paid - written.escrow):
        is_unused = not trades and written.ended_because is not None
        await agents.return_budget(
            tx, written.agent_did, held, unpaid, held_at=written.created_at, is_unused=is_unused
        )
    await journal.append(
        tx,
        order_placed(written, match.command.replaces),
        *trades_executed(placing.listing, trades),
        *(order_ended(orders[event.order], event) for event in match.events if isinstance(event, Ended)),
    )
    return await shown(tx, written)


async def _matched(tx: Tx, placing: _Placing) -> _Match:
    """Decide the order before anything is changed. Raises: OrderUnknown, OrderEnded, PostOnly, TooManyOrders, InsufficientPoints."""
    new, did = placing.new, placing.agent.did
    replaced = await _replaced(tx, new, did)
    passed_over = 0 if replaced is None else replaced.remaining
    orders = {order.seq: order for order in await store.reached(tx, new, passed_over)}
    if replaced is not None:
        orders[replaced.seq] = replaced
    drawn = await store.drawn(tx, new.ref)
    book = Book(drawn, [orders[seq].resting for seq in sorted(orders)])
    most = rules.most_to_pay(new, book) if new.side == "buy" else ZERO
    replaces = None if replaced is None else replaced.seq
    command = placed_at(drawn + 1, new, did, placing.agent.owner.name, replaces)
    events = apply(book, command)
    if isinstance(events[0], Refused):
        raise rules.refusal_of(events[0])
    rules.require_room(await store.count_open(tx, did, new.ref) - (replaced is not None))
    if new.side == "sell":
        holding = (await store.lock_holdings(tx, new.ref, [did]))[did]
        freed = replaced.remaining if replaced is not None and replaced.side == "sell" else 0
        rules.require_points(holding, freed, new.qty)
    book.advance(events)
    return _Match(drawn, command, events, book, orders, most)


async def _replaced(tx: Tx, new: NewOrder, agent_did: str) -> Order | None:
    """Raises: OrderUnknown, OrderEnded."""
    if new.replaces is None:
        return None
    replaced = await store.find(tx, new.replaces)
    if replaced is None or (replaced.agent_did, replaced.ref) != (agent_did, new.ref):
        raise OrderUnknown("This agent has no order with the id `replaces` at this listing.")
    rules.require_open(replaced)
    return replaced


async def _budget(tx: Tx, placing: _Placing, most: Minor) -> agents.HeldBudget | None:
    """Budgets that counted a buy; None where the owner has to approve it. Raises: the refusals of a payment."""
    if not most or agents.pays_plainly(placing.agent, placing.new.capability_token):
        return _NOTHING_COUNTED
    return await agents.hold_budget(tx, placing.agent, placing.payment(most), placing.settings)


def _as_left(order: Order, match: _Match, settled: Settled) -> Order:
    """The order as its events left it."""
    for event in match.events:
        if isinstance(event, Rested):
            return replace(order, remaining=event.qty, hold_id=settled.hold_id)
        if isinstance(event, Ended) and event.order == order.seq:
            return replace(order, remaining=event.remaining, ended_because=event.because)
    raise AssertionError("an order rests or ends")


async def _written(
    tx: Tx, ttl_seconds: int | None, events: Sequence[Event], orders: dict[int, Order], order: Order
) -> Order:
    """Write the order, and those that it took and replaced. Raises: ClientOrderIdUsed."""
    written = await store.insert(tx, order, ttl_seconds)
    if written is None:
        raise ClientOrderIdUsed
    await store.fill(tx, order.ref, filled_by(events))
    for event in events:
        if isinstance(event, Ended) and event.because == "replaced":
            await close(tx, orders[event.order], event)
    if written.ended_because is None and written.expires_at is not None:
        await enqueue(tx, EXPIRY, str(written.id), {"ref": written.ref}, written.expires_at)
    return written
