"""Transfers to other registries that pay something of a room above, which names them: a payment token, a part of a contract.

The transfer is reserved in the transaction of the room above, and `PAYMENT_DECIDED` tells the room in the commit of the
decision. The name of a transfer is used once: what was reserved under it, or replayed after a restore, is not reserved again.
"""

from dataclasses import dataclass
from uuid import UUID

from hansa.foundation.plumbing.database import Tx
from hansa.foundation.plumbing.runtime import Runtime
from hansa.foundation.values.money import Minor
from hansa.rooms import ledger

from . import store
from .corridor import Corridor
from .destination import fee_of_peer
from .errors import PeerRewound
from .exchange import PeerSilent, exchange
from .messages import Message, MessageType
from .reading import view_of_sent
from .records import CrossingView
from .reserving import RESERVE

RETRY_SECONDS = 2.0


@dataclass(frozen=True)
class CrossingPayment:
    """A payment that crosses; without a decision within `seconds` it is ABORT.

    An ABORT frees the Idempotency-Key of `request_scope`.
    """

    transfer_id: UUID
    order: ledger.TransferOrder
    seconds: float
    request_scope: bytes | None = None


async def reserve_payment(tx: Tx, corridor: Corridor, payment: CrossingPayment) -> Minor:
    """Set the units aside for the payee's registry; returns the border fee that its card states.

    Raises: PeerRewound, AccountUnknown, AccountSuspended, InsufficientBalance.
    """
    order, book = payment.order, corridor.book
    fee = fee_of_peer(corridor.peer, order.amount)
    new = store.NewSent(
        transfer_id=payment.transfer_id,
        peer=corridor.key,
        frame=corridor.frame,
        sender_did=order.payer,
        receiver_did=order.payee,
        amount=order.amount,
        currency=book.currency,
        memo=order.message,
        expected_fee=fee,
        backend="async",
        is_counted=False,
        capability_id=None,
        request_scope=payment.request_scope.hex() if payment.request_scope else None,
        deadline_seconds=payment.seconds,
        first_retry_seconds=RETRY_SECONDS,
    )
    reserved = ledger.ReserveOut(
        corridor.frame, payment.transfer_id, order.payer, order.amount, order.payee, order.message
    )
    try:
        await ledger.apply(tx, [RESERVE.on(reserved.order(book), new)], book)
    except ledger.ClaimRefused:
        raise PeerRewound from None
    return fee


async def find_payment(tx: Tx, transfer_id: UUID) -> CrossingView | None:
    """The transfer under this name, if there is one."""
    row = await store.sent_row(tx, transfer_id)
    return None if row is None else view_of_sent(row)


async def ask_to_prepare(runtime: Runtime, corridor: Corridor, transfer_id: UUID) -> None:
    """Ask the payee's registry once; without its answer it is asked again by a job until the deadline."""
    database = runtime.database
    row = await database.look(lambda tx: store.sent_row(tx, transfer_id))
    if row is None or row["state"] != "reserved":
        return
    try:
        await exchange(runtime, corridor, [Message(MessageType.PREPARE, store.sent_of(row).body)], rounds=1)
    except PeerSilent:
        return
