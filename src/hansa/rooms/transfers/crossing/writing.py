"""Write the changes of protocol steps: rows, chain, budget and events, and the units last, in one transaction.

Totals of the units that were swapped with each peer, which two registries compare: counted in the commit that decides a swap.

Evidence for reputation that payments from a peer's agents give: which of them count, and how much of their fees.

- A payment counts only while its amount is covered: by units that this registry committed out to the peer and that have not
  come back before it. All other units the peer may have issued itself.
- Of its fee counts the share that is the peer's weight by peer trust, 0 while the peer is unmeasured.
- The fees of one peer that count on one UTC day are at most PEER_COUNTED_FEES_MAX.
- A swap never counts; neither does a payment to an agent whose owner has an area of the administration.
"""

from collections.abc import Mapping, Sequence
from uuid import UUID

import msgspec
from msgspec.structs import replace

from hansa.foundation.events import CrossRegistryTransferCompleted
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web import idempotency
from hansa.foundation.values.money import format_amount, parse_amount
from hansa.rooms import agents, federation, journal, ledger

from . import pair_chain, received_store, sent_store, store
from .corridor import Corridor, CrossingDecision
from .envelope import stored_message
from .messages import PAYING
from .money_orders import orders_of
from .pair_chain import Pair
from .states import Money, MoneyKind, Received, ReceivedState, Sent, SentState, Step
from .swapped import move_in_pool

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
_ADD = """
INSERT INTO transfers_swapped AS row (peer, frame, currency, own_out, foreign_out, own_in, foreign_in)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (peer, currency) DO UPDATE SET own_out = row.own_out + excluded.own_out,
  foreign_out = row.foreign_out + excluded.foreign_out, own_in = row.own_in + excluded.own_in,
  foreign_in = row.foreign_in + excluded.foreign_in
"""
_UNCONFIRMED = """
SELECT currency_received AS currency, amount, prepared FROM transfers_sent
WHERE peer = $1 AND next_at IS NOT NULL AND state = 'committed' AND receipt IS NULL AND currency_received IS NOT NULL
"""

FULL_WEIGHT = 1000


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


class SwappedTotals(msgspec.Struct, frozen=True):
    """Units of one of the two currencies that swaps with a peer moved; minor units.

    `out`: by swaps of agents here, given or paid to the receiver; `in_`: by swaps of agents there. `confirmed`: the part of `out` that the peer confirmed.
    """

    currency: str
    out: int
    in_: int
    confirmed: int


async def count_swaps(tx: Tx, corridor: Corridor, completing: Sequence[Money]) -> None:
    """Count the swaps that were decided, under the lock of the pair."""
    totals: dict[str, list[int]] = {}
    for one in completing:
        swap = one.body.swap
        if swap is None:
            continue
        is_out = one.kind.value.endswith("_out")
        currency = swap.currency_received if is_out else one.body.currency
        moved = (one.amount, one.net, 0, 0) if is_out else (0, 0, one.net, one.amount)
        known = totals.get(currency, [0, 0, 0, 0])
        totals[currency] = [before + more for before, more in zip(known, moved, strict=True)]
    for currency, counted in totals.items():
        await tx.execute(_ADD, corridor.key, corridor.frame, currency, *counted)


async def swapped_with(tx: Tx, peer: str, currency: str) -> list[SwappedTotals]:
    """Return the totals swapped with the peer of this SPIFFE id, by currency; `currency` is the own one. `tx` must be one snapshot."""
    rows = await tx.fetch("SELECT * FROM transfers_swapped WHERE peer = $1 ORDER BY currency", peer)
    if not rows:
        return []
    given, paid = await _unconfirmed(tx, peer)
    out, in_ = sum(int(row["own_out"]) for row in rows), sum(int(row["own_in"]) for row in rows)
    own = SwappedTotals(currency, out, in_, out - given)
    foreign = [
        SwappedTotals(
            row["currency"],
            int(row["foreign_out"]),
            int(row["foreign_in"]),
            int(row["foreign_out"]) - paid.get(row["currency"], 0),
        )
        for row in rows
    ]
    return [own, *foreign]


async def _unconfirmed(tx: Tx, peer: str) -> tuple[int, dict[str, int]]:
    """Return the units given for swaps that the peer has not confirmed, and the units paid for them by currency."""
    given, paid = 0, dict[str, int]()
    for row in await tx.fetch(_UNCONFIRMED, peer):
        promise = None if row["prepared"] is None else stored_message(row["prepared"])
        given += row["amount"]
        net = 0 if promise is None else promise.net or 0
        paid[row["currency"]] = paid.get(row["currency"], 0) + net
    return given, paid


async def swapped_totals(tx: Tx, currency: str) -> dict[str, list[SwappedTotals]]:
    """Return the totals swapped with every registry, by its ledger id. See `swapped_with`."""
    peers = await tx.fetch("SELECT DISTINCT peer, frame FROM transfers_swapped ORDER BY frame")
    return {row["frame"]: await swapped_with(tx, row["peer"], currency) for row in peers}


def counted_fee(fee: int, weight: int, left: int) -> int:
    """The part of a border fee that is evidence; `weight` in thousandths, `left` of the maximum of the day. Minor units."""
    return min(fee * weight // FULL_WEIGHT, left)


def is_in(money: Money) -> bool:
    """Return whether the units come in."""
    return not money.kind.value.endswith("_out")


async def counted_fees(tx: Tx, corridor: Corridor, completing: Sequence[Money]) -> dict[str, int | None]:
    """Return the counted fee of each incoming payment by its transfer id, in minor units; None for a payment that does not count.

    The pair is locked: the outstanding amount and the amount counted today change under that lock alone.
    """
    payments = [one for one in completing if is_in(one) and one.body.purpose in PAYING]
    if not payments:
        return {}
    payees = sorted({one.body.receiver_did for one in payments if one.body.swap is None})
    counting = await store.payees_that_count(tx, payees) if payees and corridor.peer.trust_weight else ()
    if not counting:
        return dict.fromkeys((one.body.transfer_id for one in payments), None)
    outstanding: int = await ledger.outstanding_out(tx, corridor.frame, corridor.book)
    before = await store.counted_today(tx, corridor.key)
    left = max(0, parse_amount(corridor.settings.peer_counted_fees_max) - before)
    counted: dict[str, int | None] = {}
    added = 0
    for one in completing:
        is_covered = is_in(one) and one.amount <= outstanding
        if one in payments:
            is_counted = is_covered and one.body.swap is None and one.body.receiver_did in counting
            fee = counted_fee(one.fee, corridor.peer.trust_weight, left - added) if is_counted else None
            counted[one.body.transfer_id] = fee
            added += fee or 0
        if one.body.swap is None:
            outstanding = outstanding - one.amount if is_in(one) else outstanding + one.amount
    if added:
        await store.count_today(tx, corridor.key, added)
    return counted
