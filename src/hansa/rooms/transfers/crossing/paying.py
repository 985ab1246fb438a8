"""Transfers to other registries that pay something of a room above, which names them: a payment token, a part of a contract.

The transfer is reserved in the transaction of the room above, and `PAYMENT_DECIDED` tells the room in the commit of the
decision. The name of a transfer is used once: what was reserved under it, or replayed after a restore, is not reserved again.
"""

from dataclasses import dataclass
from uuid import UUID

from hansa.foundation.plumbing.database import Tx
from hansa.foundation.plumbing.runtime import Runtime
from hansa.foundation.values.money import Minor
from hansa.rooms import agents, federation, ledger

from . import store
from .destination import fee_of_peer
from .exchange import PeerSilent, exchange
from .messages import Body, Message, MessageType
from .pair_chain import stamped
from .reading import view_of_sent
from .records import CrossingView
from .taking_in import Corridor
from .transferring import require_open

RETRY_SECONDS = 2.0
UNBUDGETED = agents.HeldBudget(is_counted=False, capability_id=None)


@dataclass(frozen=True)
class CrossingPayment:
    """A payment that crosses; without a decision within `seconds` it is ABORT.

    An ABORT frees the Idempotency-Key of `request_scope`, and returns what was `held` of a budget for it.
    """

    transfer_id: UUID
    order: ledger.TransferOrder
    seconds: float
    held: agents.HeldBudget = UNBUDGETED
    request_scope: bytes | None = None


async def reserve_payment(tx: Tx, corridor: Corridor, payment: CrossingPayment) -> Minor:
    """Set the units aside for the payee's registry; returns the border fee that its card states.

    Raises: PeerRewound, AccountUnknown, AccountSuspended, InsufficientBalance.
    """
    order, book = payment.order, corridor.book
    await require_open(tx, corridor)
    await store.open_pair(tx, corridor.key)
    body = Body(
        str(payment.transfer_id), order.payer, order.payee, order.amount, book.currency, order.message
    )
    fee = fee_of_peer(corridor.peer, order.amount)
    await store.add_sent(
        tx,
        store.NewSent(
            body=body,
            peer=corridor.key,
            frame=corridor.frame,
            expected_fee=fee,
            backend="async",
            is_counted=payment.held.is_counted,
            capability_id=payment.held.capability_id,
            request_scope=payment.request_scope,
            deadline_seconds=payment.seconds,
            first_retry_seconds=RETRY_SECONDS,
        ),
    )
    reserve = ledger.ReserveOut(
        corridor.frame, payment.transfer_id, order.payer, order.amount, order.payee, order.message
    )
    (result,) = await ledger.apply(tx, [reserve.order(book)], book)
    await store.note_balance(tx, payment.transfer_id, result.balance)
    return fee


async def find_payment(tx: Tx, transfer_id: UUID) -> CrossingView | None:
    """The transfer under this name, if there is one."""
    row = await store.sent_row(tx, transfer_id)
    return None if row is None else view_of_sent(row)


async def movement_of(tx: Tx, corridor: Corridor, transfer_id: UUID) -> int:
    """The ledger transaction by which the units of a reserved transfer left."""
    left = await ledger.crossing(tx, corridor.frame, "out", transfer_id, corridor.book)
    assert left is not None
    assert left.tx_id is not None
    return left.tx_id


async def ask_to_prepare(runtime: Runtime, transfer_id: UUID) -> None:
    """Ask the payee's registry once; without its answer it is asked again by a job until the deadline."""
    database = runtime.database
    row = await database.look(lambda tx: store.sent_row(tx, transfer_id))
    if row is None or row["state"] != "reserved":
        return
    peer = await database.look(lambda tx: federation.peer_by_spiffe_id(tx, row["peer"]))
    if peer is None or peer.ledger_id is None:
        return
    corridor = Corridor.to(peer, runtime)
    pair = await database.look(lambda tx: store.find_pair(tx, corridor.key))
    prepare = stamped(pair, Message(MessageType.PREPARE, store.sent_of(row).body))
    try:
        await exchange(runtime, corridor, [prepare], rounds=1)
    except PeerSilent:
        return
