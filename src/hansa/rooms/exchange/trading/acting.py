"""Carry out acts of agents at one listing, orders and cancellations: they are judged, paid and recorded in one commit.

- Locks: the rows of the agents (shared), the listing, policies and budgets, holdings by DID, the ledger.
- Orders whose time has passed end before an order is judged.
- A maker that the ledger refuses is ended by a command of its own, and the acts are judged anew, under later numbers.
- An act that is refused leaves nothing, and does not keep the others from being carried out.
"""

from collections import defaultdict
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any, TypeAlias

from msgspec.structs import replace

from hansa.foundation.events import Event as Recorded
from hansa.foundation.plumbing.jobs import enqueue
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Agent
from hansa.foundation.values.errors import Refused
from hansa.foundation.values.money import Minor
from hansa.rooms import agents, journal, ledger
from hansa.rooms.exchange import store as listings
from hansa.rooms.exchange.errors import ListingUnknown
from hansa.rooms.exchange.matching import Ended
from hansa.rooms.exchange.records import Listing
from hansa.rooms.exchange.rules import require_enabled

from . import rules, store
from .ending import close, end_all, expire_due
from .errors import ClientOrderIdUsed
from .judging import OPPOSITE, Act, CancelOrder, Judged, Judging, Loaded, PlaceOrder, reach_of
from .reading import all_shown
from .recording import book_changed, order_ended, order_placed, trades_executed
from .records import EXPIRY, NewOrder, Order, ShownOrder, Trade
from .settling import CommandRefused, MakerRefused, Settled, record_trades, settle

PERMISSION = "exchange.trade"
_NOTHING_COUNTED = agents.HeldBudget(is_counted=False, capability_id=None)

Outcome: TypeAlias = ShownOrder | agents.Approval | Refused
_Budgets: TypeAlias = dict[int, agents.HeldBudget]


async def carry_out(tx: Tx, ref: str, acts: Sequence[Act], settings: Settings) -> dict[Act, Outcome]:
    """Carry out acts at a listing, in their order; absent from the answer are those that another transaction has to carry out.

    An act whose payment is governed comes alone. An order with a client_order_id is placed once for ever.

    Raises: the refusal of an act that comes alone, which is ExchangeDisabled, ClientOrderIdUsed, AgentSuspended, AgentRevoked,
    ListingUnknown, ListingHalted, ListingState, OrderTermsInvalid, TooManyOrders, OrderUnknown, OrderEnded, PostOnly,
    InsufficientPoints, one of a payment, InsufficientBalance, AccountSuspended or AccountUnknown.
    """
    placing = [act for act in acts if isinstance(act, PlaceOrder)]
    inactive = await agents.share_those_active(tx, sorted({act.agent.did for act in placing}))
    listing = await listings.lock(tx, ref)
    known = await store.find_by_client(tx, [name for act in placing if (name := _name(act)) is not None])
    outcomes: dict[Act, Outcome] = {}
    left: list[Act] = []
    for act in acts:
        try:
            if isinstance(act, PlaceOrder) and (placed := known.get(_name(act) or ("", ""))) is not None:
                rules.require_same(placed, act.new)
                (outcomes[act],) = await all_shown(tx, [placed])
                continue
            if isinstance(act, PlaceOrder):
                require_enabled(settings)
                if act.agent.did in inactive:
                    raise inactive[act.agent.did]
            if listing is None:
                raise ListingUnknown
            left.append(act)
        except Refused as refusal:
            outcomes[act] = refusal
    if listing is not None and left:
        outcomes |= await _carried_out(tx, listing, left, settings, is_alone=len(acts) == 1)
    if len(acts) == 1 and isinstance(outcome := outcomes[acts[0]], Refused):
        raise outcome
    return outcomes


async def place(tx: Tx, agent: Agent, new: NewOrder, settings: Settings) -> ShownOrder | agents.Approval:
    """Place one order by itself, or ask the owner of its agent. Raises: as `carry_out`."""
    act = PlaceOrder(agent, new)
    outcome = (await carry_out(tx, new.ref, [act], settings))[act]
    assert not isinstance(outcome, Refused), "the refusal of an act that comes alone is raised"
    return outcome


def _name(act: PlaceOrder) -> tuple[str, str] | None:
    name = act.new.client_order_id
    return None if name is None else (act.agent.did, name)


async def _carried_out(
    tx: Tx, listing: Listing, acts: Sequence[Act], settings: Settings, *, is_alone: bool
) -> dict[Act, Outcome]:
    outcomes: dict[Act, Outcome] = {}
    left = list(acts)
    if any(isinstance(act, PlaceOrder) for act in acts):
        await expire_due(tx, listing, settings)
    while left:
        judging = Judging(listing, await _loaded(tx, listing.ref, left))
        judging.judge_all(left)
        try:
            async with _savepoint(tx, is_needed=judging.has_makers or not is_alone):
                return outcomes | judging.refused | await _Writing(tx, judging, settings).write()
        except MakerRefused as refused:
            if (resting := judging.before.get(refused.maker)) is not None:
                await end_all(tx, listing, [resting], "suspended", settings)
                continue
            act = next(one.act for one in judging.judged if one.order == refused.maker)
            outcomes[act] = refused.refusal
            left.remove(act)
        except CommandRefused as refused:
            act = judging.judged[refused.place].act
            outcomes[act] = refused.refusal
            left.remove(act)
    return outcomes


def _savepoint(tx: Tx, *, is_needed: bool) -> AbstractAsyncContextManager[Any]:
    """A savepoint, but for an act that comes alone and takes nothing: its refusal rolls the transaction back."""
    return tx.transaction() if is_needed else nullcontext()


async def _loaded(tx: Tx, ref: str, acts: Sequence[Act]) -> Loaded:
    """The part of the listing that these acts can reach."""
    orders = [act.new for act in acts if isinstance(act, PlaceOrder)]
    named_ids = [act.order_id for act in acts if isinstance(act, CancelOrder)]
    named_ids += [new.replaces for new in orders if new.replaces is not None]
    named = [order for order in (await store.find_each(tx, named_ids)).values() if order.ref == ref]
    found = {order.seq: order for order in named}
    for side in OPPOSITE:
        reach = reach_of(side, orders, named)
        if reach is not None:
            reached = await store.reached(tx, ref, side, reach.price, reach.most)
            found |= {order.seq: order for order in reached}
    sellers = {act.agent.did for act in acts if isinstance(act, PlaceOrder) and act.new.side == "sell"}
    dids = {act.agent.did for act in acts if isinstance(act, PlaceOrder)}
    return Loaded(
        await store.drawn(tx, ref),
        list(found.values()),
        await store.lock_holdings(tx, ref, sorted(sellers)) if sellers else {},
        await store.count_open(tx, sorted(dids), ref) if dids else {},
    )


class _Writing:
    """The writing of acts that were judged."""

    def __init__(self, tx: Tx, judging: Judging, settings: Settings) -> None:
        self._tx, self._judging, self._settings = tx, judging, settings
        self._listing = judging.listing
        self._book = ledger.Book.of(settings)

    async def write(self) -> dict[Act, Outcome]:
        """Write the acts, or ask the owner of the agent whose act comes alone.

        Raises: MakerRefused, CommandRefused; then nothing of them may stay.
        """
        judging = self._judging
        if not judging.judged:
            return {}
        held: _Budgets = {}
        for act, judged in judging.placed:
            budgets = await self._budget(act, judged.most)
            if budgets is None:
                # Nobody is asked about what could not be paid anyway.
                await self._settled(is_dry=True)
                payment = self._payment(act, judged.most)
                return {act: await agents.ask_owner(self._tx, act.agent, payment)}
            held[judged.order] = budgets
        settled = await self._settled()
        written = await self._orders(held, settled)
        trades = await record_trades(self._tx, self._listing, settled.trades)
        last_price = trades[-1].price if trades else None
        await store.move_on(self._tx, self._listing.ref, judging.drawn, judging.book.seq, last_price)
        for _, judged in judging.placed:
            await self._give_back(judged, written[judged.order], held[judged.order], settled)
        await journal.append(self._tx, *self._events(written, trades))
        return await self._shown(written, trades)

    async def _settled(self, *, is_dry: bool = False) -> Settled:
        commands = [one.events for one in self._judging.judged]
        return await settle(
            self._tx, self._listing, commands, self._judging.orders, self._book, is_dry=is_dry
        )

    async def _budget(self, act: PlaceOrder, most: Minor) -> agents.HeldBudget | None:
        """Budgets that counted a buy; None where the owner has to approve it. Raises: the refusals of a payment."""
        if not most or act.is_plain:
            return _NOTHING_COUNTED
        return await agents.hold_budget(self._tx, act.agent, self._payment(act, most), self._settings)

    def _payment(self, act: PlaceOrder, amount: Minor) -> agents.Payment:
        """The order as a payment to the organization."""
        return agents.Payment(
            self._listing.treasury_did,
            amount,
            self._settings.settlement_currency,
            PERMISSION,
            PERMISSION,
            act.new.approval_id,
            act.new.capability_token,
            act.new.request_scope,
        )

    async def _orders(self, held: _Budgets, settled: Settled) -> dict[int, Order]:
        """Write the orders that were placed, as the last act left them, and those that they took, replaced or cancelled.

        Raises: CommandRefused.
        """
        judging, tx, ref = self._judging, self._tx, self._listing.ref
        placed = [
            replace(
                judging.orders[judged.order],
                hold_id=settled.holds.get(judged.order),
                is_counted=held[judged.order].is_counted,
                capability_id=held[judged.order].capability_id,
                grant_id=held[judged.order].grant_id,
            )
            for _, judged in judging.placed
        ]
        written = {}
        if placed:
            ttls = [act.new.ttl_seconds for act, _ in judging.placed]
            written = await store.insert(tx, ref, placed, ttls)
        for place, judged in enumerate(judging.judged):
            if isinstance(judged.act, PlaceOrder) and judged.order not in written:
                raise CommandRefused(place, ClientOrderIdUsed())
        await store.fill(tx, ref, judging.filled)
        await close(tx, ref, judging.ended, judging.orders)
        for order in written.values():
            if order.ended_because is None and order.expires_at is not None:
                await enqueue(tx, EXPIRY, str(order.id), {"ref": ref}, order.expires_at)
        return written

    async def _give_back(
        self, judged: Judged, order: Order, held: agents.HeldBudget, settled: Settled
    ) -> None:
        """Give the budgets of a buy back what it neither paid nor holds."""
        paid = settled.paid(order.seq)
        if held is not _NOTHING_COUNTED and (unpaid := Minor(judged.most - paid - order.escrow)):
            await agents.return_budget(
                self._tx,
                order.agent_did,
                held,
                unpaid,
                held_at=order.created_at,
                is_unused=not paid and order.ended_because is not None,
            )

    def _events(self, written: dict[int, Order], trades: Sequence[Trade]) -> list[Recorded]:
        """The events of the acts, in their order."""
        made_by = defaultdict(list)
        for trade in trades:
            made_by[trade.taker_seq].append(trade)
        events: list[Recorded] = []
        for judged in self._judging.judged:
            if isinstance(judged.act, PlaceOrder):
                events.append(order_placed(written[judged.order], judged.replaces))
                events += trades_executed(self._listing, made_by[judged.order])
            events += [
                order_ended(self._judging.orders[event.order], event)
                for event in judged.events
                if isinstance(event, Ended)
            ]
        judging = self._judging
        states = (judging.before.values(), judging.orders.values())
        events.append(book_changed(self._listing, judging.drawn, judging.book.seq, *states))
        return events

    async def _shown(self, written: dict[int, Order], trades: Sequence[Trade]) -> dict[Act, Outcome]:
        """The orders of the acts with their trades."""
        shown: dict[Act, Outcome] = {}
        for judged in self._judging.judged:
            order = written.get(judged.order)
            if order is not None:
                own = [trade for trade in trades if order.seq in {trade.taker_seq, trade.maker_seq}]
                shown[judged.act] = ShownOrder(order, own)
        cancelled = {
            judged.order: judged.act for judged in self._judging.judged if isinstance(judged.act, CancelOrder)
        }
        if cancelled:
            for one in await all_shown(self._tx, [self._judging.orders[seq] for seq in cancelled]):
                shown[cancelled[one.order.seq]] = one
        return shown
