"""Send units to an agent of another registry: reserve, ask its registry to prepare, decide.

The caller waits for the decision (`2pc`), or not (`async`): the protocol is the same, and every step is durable. An ABORT
gives everything back and frees the Idempotency-Key.
"""

import asyncio
from dataclasses import dataclass
from uuid import UUID, uuid4

import asyncpg
import msgspec

from hansa.foundation.plumbing import idempotency, jobs
from hansa.foundation.plumbing.caller import Agent
from hansa.foundation.plumbing.database import Tx
from hansa.foundation.plumbing.idempotency import Repeatable
from hansa.foundation.plumbing.runtime import Runtime
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.values.money import Minor
from hansa.rooms import agents, ledger
from hansa.rooms.transfers import pools

from . import pair_chain, sender, store
from .destination import corridor_to, fee_of_peer
from .errors import PeerRewound, refusal_of
from .exchange import PeerSilent, abort_now, exchange
from .messages import Body, Message, Swap
from .reading import view_of_sent
from .records import Bounds, CrossingView
from .states import Money, MoneyKind, Sent, SentState
from .swapped import move_in_pool
from .taking_in import DELIVERY, Corridor

XREG_PERMISSION = "teg.transfer_xreg"
CALLER_SECONDS = 10.0
"""How long a caller waits for the decision; then it is ABORT."""
ASYNC_SECONDS = 300.0
RETRY_SECONDS = 12.0
"""The job of the peer takes a transfer over when the process that answers its caller has ended."""
FIRST_LOOK_SECONDS, LONGEST_LOOK_SECONDS = 0.02, 0.25


@dataclass(frozen=True)
class AskedCrossing:
    """A transfer to be judged and reserved; `backend` is 2pc or async."""

    order: ledger.TransferOrder
    payment: agents.Payment
    request: Repeatable | None
    backend: str
    bounds: Bounds


class _Kept(msgspec.Struct, frozen=True):
    """What is remembered under an Idempotency-Key: the transfer, whose row has the answer."""

    crossing: UUID


@dataclass(frozen=True)
class Crossed:
    """A transfer that this registry sent, as it stands."""

    crossing: CrossingView
    replayed: bool


async def cross(
    runtime: Runtime, agent: Agent, corridor: Corridor, asked: AskedCrossing
) -> Crossed | agents.Approval:
    """Carry the transfer out, or ask the agent's owner.

    Raises: what `agents.clear_payment` and the ledger raise, PeerRewound, KeyReused, KeyInProgress, the refusals of swaps and
    quotes, and why the receiver's registry refused.
    """
    database = runtime.database
    reserved = await database.act(lambda tx: _reserve(tx, runtime, agent, corridor, asked))
    if isinstance(reserved, agents.Approval):
        return reserved
    transfer_id, prepare = reserved
    if prepare is not None and asked.backend == "2pc":
        await _ask_to_prepare(runtime, corridor, transfer_id, prepare)
    row = await _outcome(runtime, transfer_id)
    if row["state"] == "aborted":
        raise refusal_of(row["code"], str(transfer_id))
    return Crossed(view_of_sent(row), replayed=prepare is None)


async def _reserve(
    tx: Tx, runtime: Runtime, agent: Agent, corridor: Corridor, asked: AskedCrossing
) -> tuple[UUID, Message | None] | agents.Approval:
    """The id, and what the receiver's registry is sent, unless the transfer was reserved before under the same key."""
    settings, order, request = runtime.settings, asked.order, asked.request
    if request is not None and (kept := await idempotency.recall(tx, request)) is not None:
        return msgspec.json.decode(kept, type=_Kept).crossing, None
    transfer_id, book = uuid4(), ledger.Book.of(settings)
    reserve = ledger.ReserveOut(
        corridor.frame,
        transfer_id,
        order.payer,
        order.amount,
        order.payee,
        order.message,
        is_swap=corridor.currency_received is not None,
    )
    held = await agents.hold_budget(tx, agent, asked.payment, settings)
    if held is None:
        # The owner is not asked about what could not be paid anyway.
        await ledger.apply(tx, [reserve.order(book)], book, dry=True)
        return await agents.request_approval(tx, agent.did, asked.payment.spending, asked.payment.currency)
    await _require_open(tx, corridor)
    await store.open_pair(tx, corridor.key)
    swap, fee = await swap_out(tx, corridor, asked)
    body = Body(str(transfer_id), order.payer, order.payee, order.amount, book.currency, order.message, swap)
    await store.add_sent(tx, _new(corridor, asked, body, held, fee))
    if request is not None:
        await idempotency.remember(tx, request, msgspec.json.encode(_Kept(transfer_id)).decode())
    if asked.backend == "async":
        await jobs.enqueue(tx, DELIVERY, corridor.key)
    if swap is not None:
        await move_in_pool(tx, corridor.key, Money(MoneyKind.RESERVE_OUT, body, swap.amount_out or 0, fee))
    (result,) = await ledger.apply(tx, [reserve.order(book)], book)
    await store.note_balance(tx, transfer_id, result.balance)
    (prepare,) = sender.outstanding(Sent(body, SentState.RESERVED, expected_fee=fee))
    return transfer_id, prepare


async def swap_out(tx: Tx, corridor: Corridor, asked: AskedCrossing) -> tuple[Swap | None, Minor]:
    """What the receiver of another currency gets, with the fee as far as this registry fixes it; else the border fee.

    The pool is locked from here on. Raises: NotASwap, the refusals of swaps and quotes.
    """
    amount, bounds = asked.order.amount, asked.bounds
    if corridor.currency_received is None:
        if bounds.are_stated:
            raise pools.NotASwap
        return None, fee_of_peer(corridor.peer, amount)
    terms = await _swap_terms(tx, corridor, asked)
    price = terms.fixed
    swap = Swap(
        corridor.currency_received,
        terms.least,
        None if price is None else price.amount_out,
        None if bounds.quote_id is None else str(bounds.quote_id),
    )
    return swap, Minor(0) if price is None else price.fee


async def _swap_terms(tx: Tx, corridor: Corridor, asked: AskedCrossing) -> pools.SwapTerms:
    """Raises: the refusals of swaps and quotes."""
    order, bounds = asked.order, asked.bounds
    try:
        return await pools.price_sent(
            tx,
            corridor.key,
            order.amount,
            pools.Least(order.payer, bounds.min_amount_out, bounds.quote_id),
            corridor.settings,
        )
    except pools.SwapImpossible as impossible:
        raise pools.REFUSAL_OF[impossible.code] from None


def _new(
    corridor: Corridor, asked: AskedCrossing, body: Body, held: agents.HeldBudget, fee: Minor
) -> store.NewSent:
    waits = asked.backend == "2pc"
    return store.NewSent(
        body=body,
        peer=corridor.key,
        frame=corridor.frame,
        expected_fee=fee,
        backend=asked.backend,
        is_counted=held.is_counted,
        capability_id=held.capability_id,
        request_scope=asked.request.scope if asked.request else None,
        deadline_seconds=CALLER_SECONDS if waits else ASYNC_SECONDS,
        first_retry_seconds=RETRY_SECONDS if waits else 0.0,
    )


async def _ask_to_prepare(runtime: Runtime, corridor: Corridor, transfer_id: UUID, prepare: Message) -> None:
    """One prepare and its answer; without one the transfer is aborted."""
    database = runtime.database
    pair = await database.look(lambda tx: store.find_pair(tx, corridor.key))
    try:
        async with asyncio.timeout(CALLER_SECONDS):
            await exchange(runtime, corridor, [pair_chain.stamped(pair, prepare)], rounds=1)
    except (PeerSilent, TimeoutError):
        pass
    await database.act(lambda tx: abort_now(tx, corridor, transfer_id))


async def _outcome(runtime: Runtime, transfer_id: UUID) -> asyncpg.Record:
    """The row once it is decided, or as it is when its caller waits no longer."""
    pause = FIRST_LOOK_SECONDS
    row = await _found(runtime, transfer_id)
    if row["backend"] == "async":
        return row
    try:
        async with asyncio.timeout(CALLER_SECONDS):
            while row["state"] == "reserved":
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_LOOK_SECONDS)
                row = await _found(runtime, transfer_id)
    except TimeoutError:
        pass
    return row


async def _found(runtime: Runtime, transfer_id: UUID) -> asyncpg.Record:
    row = await runtime.database.look(lambda tx: store.sent_row(tx, transfer_id))
    assert row is not None
    return row


@dataclass(frozen=True)
class Plan:
    """What the payer would have left, and what the receiver would get; minor units."""

    left: Minor
    net: Minor
    fee: Minor


async def preview_crossing(tx: Tx, corridor: Corridor, asked: AskedCrossing) -> Plan:
    """What the transfer would come to; nothing is written. Raises: as the reserve."""
    order = asked.order
    await _require_open(tx, corridor)
    is_swap = corridor.currency_received is not None
    reserve = ledger.ReserveOut(
        corridor.frame, uuid4(), order.payer, order.amount, order.payee, is_swap=is_swap
    )
    (result,) = await ledger.apply(tx, [reserve.order(corridor.book)], corridor.book, dry=True)
    if is_swap:
        price = (await _swap_terms(tx, corridor, asked)).estimate
        return Plan(result.balance, price.amount_out, price.fee)
    _, fee = await swap_out(tx, corridor, asked)
    return Plan(result.balance, Minor(order.amount - fee), fee)


async def _require_open(tx: Tx, corridor: Corridor) -> None:
    if not (await store.find_pair(tx, corridor.key)).is_open or await store.has_doubt(tx, corridor.key):
        raise PeerRewound


async def across(runtime: Runtime, agent: Agent, asked: AskedCrossing) -> Crossed | agents.Approval:
    """Carry a transfer to another registry out, or ask the agent's owner. Raises: as `cross` and `corridor_to`."""
    settings = runtime.settings
    corridor = await runtime.database.look(lambda tx: corridor_to(tx, asked.order.payee, settings))
    return await cross(runtime, agent, corridor, asked)


def asked_crossing(
    settings: Settings,
    order: ledger.TransferOrder,
    operation: str,
    request: Repeatable | None,
    *,
    backend: str | None,
    approval: UUID | None,
    capability: str | None,
    bounds: Bounds,
) -> AskedCrossing:
    """The transfer as it is judged: by roles, capability and spend policy."""
    payment = agents.Payment(
        payee=order.payee,
        amount=order.amount,
        currency=settings.settlement_currency,
        permission=XREG_PERMISSION,
        operation=operation,
        approval_id=approval,
        capability_token=capability,
        request_scope=request.scope if request else None,
    )
    standard = "async" if settings.teg_cross_frame_backend == "async" else "2pc"
    return AskedCrossing(order, payment, request, backend or standard, bounds)
