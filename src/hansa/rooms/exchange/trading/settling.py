"""Make the events of the matching true: units, points, orders and trades in the commit of their command.

- One call of the ledger moves all units of a command, all or none: the fills of a taker directly, those of a maker out of its hold, each
  with the fee of the seller inside; a resting buy is held in full; an order that ends frees its hold.
- Locks: the listing, before; holdings by the DID of the agent; then the ledger.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from fractions import Fraction

import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import Minor, share
from hansa.rooms import ledger
from hansa.rooms.exchange.matching import Ended, Event, Placed, Rested, Traded
from hansa.rooms.exchange.records import Listing

from . import rules, store
from .records import OWNER_KIND, Holding, Order, Trade

BPS = 10_000


class MakerRefused(Exception):
    """The ledger refuses the maker of a trade; nothing was moved."""

    def __init__(self, order: Order) -> None:
        super().__init__(order.id)
        self.order = order


class Settled(msgspec.Struct, frozen=True):
    """Effects of a command: its trades, the hold of the order that rests now, and the units that were paid."""

    trades: list[Trade]
    hold_id: int | None

    @property
    def paid(self) -> Minor:
        """The amounts of the trades."""
        return Minor(sum(trade.price * trade.qty for trade in self.trades))


class _Leg(msgspec.Struct, frozen=True):
    """One movement of units, and the event that it makes true."""

    order: ledger.Order
    event: Event
    maker: Order | None = None
    fee: Minor = Minor(0)


async def settle(
    tx: Tx,
    listing: Listing,
    events: Sequence[Event],
    orders: Mapping[int, Order],
    book: ledger.Book,
    *,
    is_dry: bool = False,
) -> Settled:
    """Move the units and the points of these events; `orders` are those that they name, by number. With `is_dry` nothing is written.

    Raises: MakerRefused, before anything is written; InsufficientBalance, AccountSuspended, AccountUnknown, of the agent that gave
    the command.
    """
    events = _moving(events)
    holdings = await _locked_holdings(tx, listing, events, orders)
    legs = [leg for event in events for leg in _legs_of(event, orders, listing)]
    results = await _moved(tx, legs, book, is_dry=is_dry)
    if is_dry:
        return Settled([], None)
    done = list(zip(legs, results, strict=True))
    trades = [
        _trade(leg, result, orders, listing.now) for leg, result in done if isinstance(leg.event, Traded)
    ]
    for event in events:
        _change(holdings, event, orders)
    if holdings:
        await store.write_holdings(tx, listing.ref, holdings)
    hold_id = next((result.hold_id for leg, result in done if isinstance(leg.event, Rested)), None)
    return Settled(trades, hold_id)


async def record_trades(tx: Tx, listing: Listing, trades: Sequence[Trade]) -> list[Trade]:
    """Write the trades of a command, and the postings of their points, once its order is written."""
    if not trades:
        return []
    await store.post(tx, listing.ref, trades)
    return await store.insert_trades(tx, listing.ref, trades)


def filled_by(events: Sequence[Event]) -> dict[int, int]:
    """The quantities that the trades took from the makers, by the numbers of their orders."""
    return {event.maker: event.qty for event in events if isinstance(event, Traded)}


def _moving(events: Sequence[Event]) -> list[Event]:
    """The events that move units or points: an order that was filled, or ended on arrival, has nothing to give back."""
    arrived = {event.seq for event in events if isinstance(event, Placed)}
    return [
        event
        for event in events
        if not isinstance(event, Ended) or (event.remaining and event.order not in arrived)
    ]


def _parties(event: Traded, orders: Mapping[int, Order]) -> tuple[Order, Order]:
    """Buy and sell of a trade."""
    taker, maker = orders[event.taker], orders[event.maker]
    return (taker, maker) if taker.side == "buy" else (maker, taker)


def _legs_of(event: Event, orders: Mapping[int, Order], listing: Listing) -> list[_Leg]:
    match event:
        case Traded():
            buy, sell = _parties(event, orders)
            amount = rules.amount_of(event)
            assert listing.fee_bps is not None, "the approval of a listing fixes its fee"
            fee = share(amount, Fraction(listing.fee_bps, BPS))
            if buy.hold_id is None:
                paid = ledger.orders.purchase(buy.agent_did, sell.agent_did, amount, fee)
            else:
                paid = ledger.orders.sale(buy.hold_id, amount, fee, payee=sell.agent_did, tx_type="trade")
            return [_Leg(paid, event, orders[event.maker], fee)]
        case Rested(side="buy"):
            order = orders[event.seq]
            held_for = ledger.NewHold(OWNER_KIND, str(order.id))
            amount = Minor(event.price * event.qty)
            return [_Leg(ledger.orders.deposit(order.agent_did, amount, held_for), event)]
        case Ended():
            hold_id = orders[event.order].hold_id
            return [] if hold_id is None else [_Leg(ledger.orders.release(hold_id), event)]
        case _:
            return []


async def _moved(tx: Tx, legs: Sequence[_Leg], book: ledger.Book, *, is_dry: bool) -> list[ledger.Result]:
    """Carry the legs out in their order, all or none. Raises: MakerRefused, and the refusal of the commanding agent."""
    if not legs:
        return []
    try:
        return await ledger.apply_in_order(tx, [leg.order.in_group(1) for leg in legs], book, dry=is_dry)
    except ledger.OrderRefused as refused:
        maker = legs[refused.index].maker
        is_party = isinstance(refused.refusal, ledger.AccountSuspended | ledger.AccountUnknown)
        if maker is None or not is_party or await ledger.is_active(tx, maker.agent_did):
            raise refused.refusal from None
        raise MakerRefused(maker) from None


def _trade(leg: _Leg, result: ledger.Result, orders: Mapping[int, Order], now: datetime) -> Trade:
    event = leg.event
    assert isinstance(event, Traded)
    assert result.tx_id is not None, "a trade moves units"
    buy, sell = _parties(event, orders)
    return Trade(
        buy.ref,
        event.seq,
        event.taker,
        event.maker,
        orders[event.taker].side,
        Minor(event.price),
        event.qty,
        buy.agent_did,
        sell.agent_did,
        leg.fee,
        result.tx_id,
        now,
    )


async def _locked_holdings(
    tx: Tx, listing: Listing, events: Sequence[Event], orders: Mapping[int, Order]
) -> dict[str, Holding]:
    """The holdings that the events change."""
    dids: set[str] = set()
    for event in events:
        match event:
            case Traded():
                dids |= {order.agent_did for order in _parties(event, orders)}
            case Rested(seq=seq, side="sell"):
                dids.add(orders[seq].agent_did)
            case Ended(order=seq) if orders[seq].side == "sell":
                dids.add(orders[seq].agent_did)
    return await store.lock_holdings(tx, listing.ref, sorted(dids)) if dids else {}


def _change(holdings: Mapping[str, Holding], event: Event, orders: Mapping[int, Order]) -> None:
    match event:
        case Traded(qty=qty):
            buy, sell = _parties(event, orders)
            if sell.seq == event.maker:
                holdings[sell.agent_did].locked -= qty
            holdings[sell.agent_did].give(qty)
            holdings[buy.agent_did].qty += qty
            holdings[buy.agent_did].cost += rules.amount_of(event)
        case Rested(seq=seq, side="sell", qty=qty):
            holdings[orders[seq].agent_did].locked += qty
        case Ended(order=seq, remaining=remaining) if orders[seq].side == "sell":
            holdings[orders[seq].agent_did].locked -= remaining
