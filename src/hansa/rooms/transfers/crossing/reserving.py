"""Reserve the units of a transfer, with its row: together with other transfers, or judged by itself.

Transfers that depend on the agent's roles alone are batched with others of this process; the database's side is
`sql/reserve.sql`. A transfer that a policy or a capability governs is a transaction of its own.
"""

from collections.abc import Sequence
from uuid import UUID, uuid4

import msgspec

from hansa.foundation.plumbing import jobs
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web import idempotency
from hansa.foundation.plumbing.web.caller import Agent
from hansa.foundation.plumbing.web.idempotency import Repeatable
from hansa.foundation.plumbing.web.in_process import InCommit
from hansa.foundation.values.money import Minor
from hansa.rooms import agents, federation, ledger
from hansa.rooms.transfers import pools

from . import sent_store
from .channel import DELIVERY
from .corridor import Corridor
from .destination import fee_of_peer
from .errors import PeerRewound
from .messages import Body, Message, Swap
from .money_orders import reserve_out
from .records import Bounds
from .row_columns import swap_columns
from .swapping_out import prepare_of, swap_terms

CALLER_SECONDS = 10.0
"""How long a caller waits for the decision; then it is ABORT."""
ASYNC_SECONDS = 300.0
RETRY_SECONDS = 12.0
"""The job of the peer takes a transfer over when the process that answers its caller has ended."""
NO_BUDGET = agents.HeldBudget(is_counted=False, capability_id=None)


class CrossingRequest(msgspec.Struct, frozen=True):
    """A transfer to be judged and reserved; `backend` is 2pc or async. `in_commit` as in a governed transfer."""

    order: ledger.TransferOrder
    payment: agents.Payment
    request: Repeatable | None
    backend: str
    bounds: Bounds
    in_commit: InCommit | None = None

    def is_plain(self, agent: Agent) -> bool:
        """Nothing but the agent's roles has a say in the transfer, and nothing else happens in its commit."""
        return self.in_commit is None and agents.pays_plainly(agent, self.payment.capability_token)


class Kept(msgspec.Struct, frozen=True):
    """Record under an Idempotency-Key: the transfer, whose row has the answer."""

    crossing: UUID


RESERVE = ledger.Extension("transfers_reserve", sent_store.NewSent, Kept)


class Reserved(msgspec.Struct, frozen=True):
    """Transfer, and the message for its peer; None where it was reserved before under the same key."""

    transfer_id: UUID
    prepare: Message | None


async def reserve(
    runtime: Runtime, agent: Agent, corridor: Corridor, crossing_request: CrossingRequest
) -> Reserved | agents.Approval:
    """Reserve the transfer, or ask the agent's owner.

    A swap is priced under the lock of its pool, in a transaction of its own.

    Raises: the errors of `agents.hold_budget` and the ledger, PeerRewound, KeyReused, KeyInProgress, Unavailable, NotASwap, the
    refusals of swaps and quotes.
    """
    if corridor.currency_received is None and crossing_request.bounds.are_stated:
        raise pools.NotASwap
    await federation.require_own_confirmed(runtime, crossing_request.order.payer)
    if corridor.currency_received is None and crossing_request.is_plain(agent):
        return await _gathered(runtime, corridor, crossing_request)
    return await runtime.database.transaction(
        lambda tx: _judged(tx, runtime, agent, corridor, crossing_request)
    )


async def _gathered(runtime: Runtime, corridor: Corridor, crossing_request: CrossingRequest) -> Reserved:
    body = body_of(corridor, crossing_request)
    new = new_sent(
        corridor, crossing_request, body, NO_BUDGET, fee_of_peer(corridor.peer, crossing_request.order.amount)
    )
    order = RESERVE.on(reserve_out(corridor, body).order(corridor.book), new)
    batch = ledger.GROUP_COMMIT.of(runtime)
    try:
        kept = await batch.submit([order], crossing_request.request, _render, lambda kept: kept)
    except ledger.ClaimRefused:
        raise PeerRewound from None
    transfer_id = msgspec.json.decode(kept.text, type=Kept).crossing
    if transfer_id != new.transfer_id:
        return Reserved(transfer_id, None)
    if crossing_request.backend == "async":
        await runtime.database.transaction(lambda tx: jobs.enqueue(tx, DELIVERY, corridor.key))
    return Reserved(transfer_id, prepare_of(body, new.expected_fee))


def _render(receipts: Sequence[ledger.Receipt]) -> str:
    return msgspec.json.encode(RESERVE.outcome_of(receipts[0])).decode()


async def _judged(
    tx: Tx, runtime: Runtime, agent: Agent, corridor: Corridor, crossing_request: CrossingRequest
) -> Reserved | agents.Approval:
    request = crossing_request.request
    if request is not None and (stored := await idempotency.recall(tx, request)) is not None:
        return Reserved(stored_transfer(stored).crossing, None)
    # The pool is locked before the budget, as when a decision gives the budget back.
    terms = await swap_terms(tx, corridor, crossing_request.order, crossing_request.bounds)
    body = body_of(corridor, crossing_request, terms.swap)
    order = reserve_out(corridor, body).order(corridor.book)
    held = await agents.hold_budget(tx, agent, crossing_request.payment, runtime.settings)
    if held is None:
        # The owner is not asked about what could not be paid anyway.
        await ledger.apply(tx, [order], corridor.book, dry=True)
        return await agents.ask_owner(tx, agent, crossing_request.payment)
    if request is not None:
        await idempotency.remember(tx, request, text_of(body))
    if crossing_request.backend == "async":
        await jobs.enqueue(tx, DELIVERY, corridor.key)
    await terms.reserve(tx, body)
    try:
        new = new_sent(corridor, crossing_request, body, held, terms.fee)
        await ledger.apply(tx, [RESERVE.on(order, new)], corridor.book)
    except ledger.ClaimRefused:
        raise PeerRewound from None
    if crossing_request.in_commit is not None:
        await crossing_request.in_commit(tx, body.transfer_id)
    return Reserved(UUID(body.transfer_id), prepare_of(body, terms.fee))


def stored_transfer(kept: str) -> Kept:
    """Return the transfer from either form of the record under a key."""
    if ledger.is_of_receipts(kept):
        return RESERVE.outcome_of(ledger.stored_receipts(kept)[0])
    return msgspec.json.decode(kept, type=Kept)


def text_of(body: Body) -> str:
    """Return the record under the key of its request."""
    return msgspec.json.encode(Kept(UUID(body.transfer_id))).decode()


def body_of(corridor: Corridor, crossing_request: CrossingRequest, swap: Swap | None = None) -> Body:
    """The transfer under a new id."""
    order = crossing_request.order
    return Body(
        str(uuid4()), order.payer, order.payee, order.amount, corridor.book.currency, order.message, swap
    )


def new_sent(
    corridor: Corridor, crossing_request: CrossingRequest, body: Body, held: agents.HeldBudget, fee: Minor
) -> sent_store.NewSent:
    """The row of a transfer that is reserved."""
    waits = crossing_request.backend == "2pc"
    return sent_store.NewSent(
        transfer_id=UUID(body.transfer_id),
        peer=corridor.key,
        frame=corridor.frame,
        sender_did=body.sender_did,
        receiver_did=body.receiver_did,
        amount=Minor(body.amount),
        currency=body.currency,
        memo=body.memo,
        expected_fee=fee,
        backend=crossing_request.backend,
        is_counted=held.is_counted,
        capability_id=held.capability_id,
        grant_id=held.grant_id,
        request_scope=crossing_request.request.scope.hex() if crossing_request.request else None,
        deadline_seconds=CALLER_SECONDS if waits else ASYNC_SECONDS,
        first_retry_seconds=RETRY_SECONDS if waits else 0.0,
        **swap_columns(body.swap),
    )
