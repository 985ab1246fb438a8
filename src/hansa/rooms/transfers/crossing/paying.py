"""Transfers to other registries that pay something of a room above, which names them: a payment token, a part of a contract.

The transfer is reserved in the transaction of the room above, and `PAYMENT_DECIDED` notifies the room in the commit of the
decision. The name of a transfer is used once: a transfer reserved under it, or replayed after a restore, is not reserved again.
"""

from contextlib import suppress
from uuid import UUID

import msgspec

from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import Minor
from hansa.rooms import agents, federation, ledger

from . import sender, sent_store
from .channel import CHANNEL
from .corridor import Corridor
from .errors import PeerRewound
from .messages import Body
from .money_orders import reserve_out
from .reading import view_of_sent
from .records import NO_BOUNDS, Bounds, CrossingView
from .reserving import RESERVE
from .row_columns import swap_columns
from .swapping_out import swap_terms

RETRY_SECONDS = 2.0
UNBUDGETED = agents.HeldBudget(is_counted=False, capability_id=None)


class CrossingPayment(msgspec.Struct, frozen=True):
    """A payment that crosses; without a decision within `seconds` it is ABORT.

    `purpose` is that of `Body`. An ABORT frees the Idempotency-Key of `request_scope`, and returns the units that were `held` of a budget for it.
    """

    transfer_id: UUID
    order: ledger.TransferOrder
    seconds: float
    purpose: str | None
    held: agents.HeldBudget = UNBUDGETED
    request_scope: bytes | None = None
    bounds: Bounds = NO_BOUNDS


async def reserve_payment(tx: Tx, corridor: Corridor, payment: CrossingPayment) -> Minor:
    """Set the units aside for the payee's registry; returns the border fee that its card states, of a swap its own.

    Raises: PeerRewound, the refusals of swaps, AccountUnknown, AccountSuspended, InsufficientBalance.
    """
    order, book = payment.order, corridor.book
    await federation.require_confirmed(tx, [order.payer], corridor.settings)
    terms = await swap_terms(tx, corridor, order, payment.bounds)
    body = Body(
        str(payment.transfer_id),
        order.payer,
        order.payee,
        order.amount,
        book.currency,
        order.message,
        terms.swap,
        payment.purpose,
    )
    new = sent_store.NewSent(
        transfer_id=payment.transfer_id,
        peer=corridor.key,
        frame=corridor.frame,
        sender_did=order.payer,
        receiver_did=order.payee,
        amount=order.amount,
        currency=book.currency,
        memo=order.message,
        expected_fee=terms.fee,
        backend="async",
        is_counted=payment.held.is_counted,
        capability_id=payment.held.capability_id,
        grant_id=payment.held.grant_id,
        request_scope=payment.request_scope.hex() if payment.request_scope else None,
        deadline_seconds=payment.seconds,
        first_retry_seconds=RETRY_SECONDS,
        purpose=payment.purpose,
        **swap_columns(terms.swap),
    )
    await terms.reserve(tx, body)
    try:
        await ledger.apply(tx, [RESERVE.on(reserve_out(corridor, body).order(book), new)], book)
    except ledger.ClaimRefused:
        raise PeerRewound from None
    return terms.fee


async def find_payment(tx: Tx, transfer_id: UUID) -> CrossingView | None:
    """The transfer under this name, if there is one."""
    row = await sent_store.sent_row(tx, transfer_id)
    return None if row is None else view_of_sent(row)


async def give_up_payment(tx: Tx, transfer_id: UUID) -> None:
    """Let a transfer that is not decided be aborted before its deadline: the thing that it pays is paid otherwise."""
    await sent_store.end_time(tx, transfer_id)


async def movement_of(tx: Tx, corridor: Corridor, transfer_id: UUID) -> int:
    """The ledger transaction by which the units of a reserved transfer left."""
    left = await ledger.crossing(tx, corridor.frame, "out", transfer_id, corridor.book)
    assert left is not None
    assert left.tx_id is not None
    return left.tx_id


async def ask_to_prepare(runtime: Runtime, transfer_id: UUID) -> None:
    """Ask the payee's registry once; without its answer it is asked again by a job until the deadline."""
    database = runtime.database
    row = await database.query(lambda tx: sent_store.sent_row(tx, transfer_id))
    if row is None or row["state"] != "reserved":
        return
    peer = await database.query(lambda tx: federation.peer_by_spiffe_id(tx, row["peer"]))
    if peer is None or peer.ledger_id is None:
        return
    with suppress(federation.mailbox.PeerUnavailable):
        await CHANNEL.send(runtime, peer, sender.outstanding(sent_store.sent_of(row)))
