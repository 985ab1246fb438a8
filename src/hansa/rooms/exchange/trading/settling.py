"""Make the events of the matching true: units, points, orders and trades in the commit of their commands.

- One call of the ledger moves all units of the commands, all or none: the fills of a taker directly, those of a maker out of its hold, each
  with the fee of the seller inside; a resting buy is held in full; an order that ends frees its hold.
- Locks: the listing, before; holdings by the DID of the agent; then the ledger.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from fractions import Fraction

import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.errors import Refused
from hansa.foundation.values.money import Minor, share
from hansa.rooms import ledger
from hansa.rooms.exchange.matching import Ended, Event, Placed, Rested, Traded
from hansa.rooms.exchange.records import Listing

from . import rules, store
from .records import OWNER_KIND, Holding, Order, Trade

BPS = 10_000


class MakerRefused(Exception):
    """The ledger refuses the maker of a trade; nothing was moved."""

    def __init__(self, maker: int, refusal: Refused) -> None:
        super().__init__(maker)
        self.maker, self.refusal = maker, refusal


class CommandRefused(Exception):
    """The ledger refuses the agent of one of the commands; what was written is to be rolled back."""

    def __init__(self, place: int, refusal: Refused) -> None:
        super().__init__(place)
        self.place, self.refusal = place, refusal


class Settled(msgspec.Struct, frozen=True):
    """Effects of commands: their trades, and the holds of the orders that rest now, by number."""

    trades: list[Trade]
    holds: dict[int, int]

    def paid(self, taker: int) -> Minor:
        """The amounts of the trades of an arriving order."""
        return Minor(sum(trade.price * trade.qty for trade in self.trades if trade.taker_seq == taker))


class _Leg(msgspec.Struct, frozen=True):
    """One movement of units, and the event that it makes true. `command` is the place of its command."""

    order: ledger.Order
    event: Event
    command: int
    maker: Order | None = None
    fee: Minor = Minor(0)


async def settle(
    tx: Tx,
    listing: Listing,
    commands: Sequence[Sequence[Event]],
    orders: Mapping[int, Order],
    book: ledger.Book,
    *,
    is_dry: bool = False,
) -> Settled:
    """Move the units and the points of the events of these commands; `orders` are those that they name, by number. With `is_dry` nothing is written.

    Raises: MakerRefused, CommandRefused; then the transaction, or its savepoint, is to be rolled back.
    """
    moving = [(place, event) for place, events in enumerate(commands) for event in _moving(events)]
    events = [event for _, event in moving]
    holdings = await _locked_holdings(tx, listing, events, orders)
    legs = [leg for place, event in moving for leg in _legs_of(place, event, orders, listing)]
    results = await _moved(tx, legs, book, is_dry=is_dry)
    if is_dry:
        return Settled([], {})
    done = list(zip(legs, results, strict=True))
    trades = [
        _trade(leg, result, orders, listing.now) for leg, result in done if isinstance(leg.event, Traded)
    ]
    for event in events:
        _change(holdings, event, orders)
    if holdings:
        await store.write_holdings(tx, listing.ref, holdings)
    holds = {
        leg.event.seq: result.hold_id
        for leg, result in done
        if isinstance(leg.event, Rested) and result.hold_id is not None
    }
    return Settled(trades, holds)


async def record_trades(tx: Tx, listing: Listing, trades: Sequence[Trade]) -> list[Trade]:
    """Write trades, and the postings of their points, once their orders are written."""
    if not trades:
        return []
    await store.post(tx, listing.ref, trades)
    return await store.insert_trades(tx, listing.ref, trades)


def _moving(events: Sequence[Event]) -> list[Event]:
    """The events of a command that move units or points: an order that was filled, or ended on arrival, has nothing to give back."""
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


def _legs_of(place: int, event: Event, orders: Mapping[int, Order], listing: Listing) -> list[_Leg]:
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
            return [_Leg(paid, event, place, orders[event.maker], fee)]
        case Rested(side="buy"):
            order = orders[event.seq]
            held_for = ledger.NewHold(OWNER_KIND, str(order.id))
            amount = Minor(event.price * event.qty)
            return [_Leg(ledger.orders.deposit(order.agent_did, amount, held_for), event, place)]
        case Ended():
            hold_id = orders[event.order].hold_id
            return [] if hold_id is None else [_Leg(ledger.orders.release(hold_id), event, place)]
        case _:
            return []


async def _moved(tx: Tx, legs: Sequence[_Leg], book: ledger.Book, *, is_dry: bool) -> list[ledger.Result]:
    """Carry the legs out in their order, all or none. Raises: MakerRefused, CommandRefused."""
    if not legs:
        return []
    try:
        return await ledger.apply_in_order(tx, [leg.order.in_group(1) for leg in legs], book, dry=is_dry)
    except ledger.OrderRefused as refused:
        leg = legs[refused.index]
        maker = leg.maker
        is_party = isinstance(refused.refusal, ledger.AccountSuspended | ledger.AccountUnknown)
        if maker is None or not is_party or await ledger.is_active(tx, maker.agent_did):
            raise CommandRefused(leg.command, refused.refusal) from None
        raise MakerRefused(maker.seq, refused.refusal) from None


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
