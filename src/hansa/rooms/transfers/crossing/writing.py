"""Write the changes of protocol steps: rows, chain, budget and events, and the units last, in one transaction."""

from collections.abc import Mapping
from uuid import UUID

import msgspec
from msgspec.structs import replace

from hansa.foundation.events import CrossRegistryTransferCompleted
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web import idempotency
from hansa.foundation.values.money import format_amount
from hansa.rooms import agents, federation, journal, ledger

from . import pair_chain, received_store, sent_store, store
from .corridor import Corridor
from .evidence import counted_fees, is_in
from .money_orders import orders_of
from .pair_chain import Pair
from .payment_slot import CrossingDecision
from .states import Money, MoneyKind, Received, ReceivedState, Sent, SentState, Step
from .swapped import move_in_pool
from .swapped_totals import count_swaps

COMPLETING = frozenset(
    {
        MoneyKind.COMMIT_OUT,
        MoneyKind.REPLAY_OUT,
        MoneyKind.SHORTFALL_OUT,
        MoneyKind.COMMIT_IN,
        MoneyKind.REPLAY_IN,
    }
)
LEAVING = frozenset({MoneyKind.COMMIT_OUT, MoneyKind.REPLAY_OUT, MoneyKind.SHORTFALL_OUT})


class Changes(msgspec.Struct):
    """Changes by the steps of one transaction, each row as the last of them left it."""

    pair: Pair
    """The pair as it is now; `kept` as it is stored."""
    kept: Pair
    sent: dict[str, Sent] = msgspec.field(default_factory=dict)
    received: dict[str, Received] = msgspec.field(default_factory=dict)
    entries: list[store.Entry] = msgspec.field(default_factory=list)
    money: list[Money] = msgspec.field(default_factory=list)

    def add(self, step: Step) -> None:
        """Take a step over that changed something."""
        row = step.sent or step.received
        assert row is not None
        if step.sent is not None:
            self.sent[step.sent.body.transfer_id] = step.sent
        if step.received is not None:
            self.received[step.received.body.transfer_id] = step.received
        if step.entry is not None:
            self.pair = pair_chain.append(self.pair, step.entry, row.body.digest)
            self.entries.append(store.Entry(self.pair.own, step.entry, UUID(row.body.transfer_id)))
            if step.received is not None:
                placed = replace(step.received, place=(self.pair.own.epoch, self.pair.own.seq))
                self.received[row.body.transfer_id] = placed
        self.money += step.money


async def write_changes(tx: Tx, corridor: Corridor, changes: Changes) -> None:
    """Write them under the lock of the pair. Raises: the refusals of the ledger, which undo them all."""
    if changes.pair != changes.kept:
        await store.write_pair(tx, corridor.key, changes.pair)
    await sent_store.write_sent(tx, corridor.key, corridor.frame, list(changes.sent.values()))
    await received_store.write_received(tx, corridor.key, corridor.frame, list(changes.received.values()))
    await store.add_entries(tx, corridor.key, changes.entries)
    await _carry_out(tx, corridor, changes)
    aborted = (one.body for one in changes.received.values() if one.state is ReceivedState.ABORTED)
    given_up = {one.body for one in changes.money if one.kind is MoneyKind.ABORT_IN}
    if any(body.swap is not None and body in given_up for body in aborted):
        # A peer that aborts keeps others from the reserve at no cost (Specification 6 W 17).
        await federation.record_signal(tx, corridor.peer.id, "swap_aborted")
    confirmed = [
        UUID(transfer_id)
        for transfer_id, sent in changes.sent.items()
        if sent.state is SentState.COMMITTED and sent.receipt is not None and sent.body.swap is None
    ]
    if confirmed:
        await ledger.confirm_out(tx, corridor.frame, confirmed, corridor.book)


async def _carry_out(tx: Tx, corridor: Corridor, changes: Changes) -> None:
    money = changes.money
    await move_in_pool(tx, corridor, money)
    returned = [one.body for one in money if one.kind is MoneyKind.ABORT_OUT]
    # Budgets are locked in the order of their payers, as no two requests lock them otherwise.
    for body in sorted(returned, key=lambda body: body.sender_did):
        await _give_back(tx, UUID(body.transfer_id))
        code = changes.sent[body.transfer_id].code
        await corridor.decided(tx, [CrossingDecision(UUID(body.transfer_id), None, code)], corridor.settings)
    completing = [one for one in money if one.kind in COMPLETING]
    if completing:
        counted = await counted_fees(tx, corridor, completing)
        completed = [_completed(corridor, one, counted) for one in completing]
        await federation.record_crossings(tx, corridor.peer.id, len(completed))
        await journal.append(tx, *completed)
        await count_swaps(tx, corridor, completing)
    orders = [order for one in money for order in orders_of(corridor, one)]
    if orders:
        await ledger.apply(tx, orders, corridor.book)
    left = {UUID(one.body.transfer_id): one.body.purpose for one in money if one.kind in LEAVING}
    if left:
        transactions = await ledger.transactions_out(tx, corridor.frame, list(left), corridor.book)
        decisions = [
            CrossingDecision(transfer_id, transactions[transfer_id], None, purpose)
            for transfer_id, purpose in left.items()
        ]
        await corridor.decided(tx, decisions, corridor.settings)


async def _give_back(tx: Tx, transfer_id: UUID) -> None:
    """An ABORT frees the Idempotency-Key and gives the payer's budget back."""
    row = await sent_store.sent_row(tx, transfer_id)
    assert row is not None
    if row["request_scope"] is not None:
        await idempotency.forget(tx, row["request_scope"])
    held = agents.HeldBudget(row["is_counted"], row["capability_id"], row["grant_id"])
    await agents.return_budget(
        tx, row["sender_did"], held, row["amount"], held_at=row["created_at"], is_unused=True
    )


def _completed(
    corridor: Corridor, money: Money, counted: Mapping[str, int | None]
) -> CrossRegistryTransferCompleted:
    body = money.body
    counted_fee = counted.get(body.transfer_id)
    return CrossRegistryTransferCompleted(
        transfer_id=body.transfer_id,
        direction="in" if is_in(money) else "out",
        sender_did=body.sender_did,
        receiver_did=body.receiver_did,
        amount=format_amount(body.amount),
        amount_received=format_amount(money.net),
        fee=format_amount(money.fee),
        currency=body.currency,
        currency_received=body.swap.currency_received if body.swap else body.currency,
        counterparty_frame=corridor.frame,
        counts=counted_fee is not None if body.transfer_id in counted else None,
        counted_fee=format_amount(counted_fee or 0) if body.transfer_id in counted else None,
    )
