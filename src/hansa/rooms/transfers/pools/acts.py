"""Acts on a pool that the other registry has to follow: proposed, funded, drained, other terms, closed.

Each is done here in one transaction, kept until the other registry has answered, and taken in there once. An act moves units
of the ledger of its author alone; the other registry follows with a figure.
"""

from decimal import Decimal
from typing import Literal
from uuid import UUID, uuid4

import asyncpg
import msgspec

from hansa.foundation.plumbing import jobs
from hansa.foundation.plumbing.outgoing import CallLimits
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import Minor, format_amount
from hansa.rooms import federation, ledger

from . import store
from .errors import PoolBusy, PoolCurrencyDiffers, PoolExists, PoolUnknown
from .records import Mode, Pool

DELIVERY = "transfers: acts on pools to a peer"
PATH = "/api/v1/federation/fx/acts"
LIMITS = CallLimits(seconds=5.0, body_bytes=64 * 1024)
OK, NOT_FOUND, CONFLICT, UNPROCESSABLE = 200, 404, 409, 422

Kind = Literal["propose", "fund", "drain", "terms", "close"]


class PoolAct(msgspec.Struct, frozen=True):
    """An act of the registry that has `currency`; amounts in minor units, `amount` in its own.

    Of a proposal `amount` is the author's reserve and `asked` the one that the receiver has to fund.
    """

    act_id: UUID
    kind: Kind
    currency: str
    amount: Minor
    asked: Minor
    mode: Mode
    rate: Decimal | None


async def record(tx: Tx, pool: Pool, kind: Kind, currency: str, amount: int = 0, *, asked: int = 0) -> UUID:
    """Keep an act of this registry until the peer has it, in the transaction of the act."""
    act_id = uuid4()
    members = {
        "act_id": act_id,
        "kind": kind,
        "currency": currency,
        "amount": format_amount(amount),
        "asked": format_amount(asked),
        "mode": pool.mode,
        "rate": None if pool.rate is None else f"{pool.rate:f}",
    }
    await store.add_act(tx, act_id, pool.peer, kind, msgspec.json.encode(members).decode())
    await jobs.enqueue(tx, DELIVERY, pool.peer)
    return act_id


async def deliver(runtime: Runtime, job: jobs.Job) -> None:
    """Send a peer the acts that it does not have, in their order. Raises: PutOff."""
    reason = await send_acts(runtime, job.key)
    if reason is not None:
        raise jobs.PutOff(reason)


async def send_acts(runtime: Runtime, spiffe_id: str) -> str | None:
    """Send the acts that the peer does not have; return why one could not be sent, None once all are answered."""
    database = runtime.database
    peer = await database.query(lambda tx: federation.peer_by_spiffe_id(tx, spiffe_id))
    if peer is None:
        return "the peer is not known any more"
    for row in await database.query(lambda tx: store.acts(tx, spiffe_id)):
        reason = await _send_act(runtime, peer, row)
        if reason is not None:
            return reason
    return None


async def _send_act(runtime: Runtime, peer: federation.PeerRecord, row: asyncpg.Record) -> str | None:
    body = msgspec.json.decode(row["body"])
    try:
        answer = await federation.mailbox.post(runtime, peer, PATH, body, limits=LIMITS)
    except federation.mailbox.PeerUnavailable as unavailable:
        return unavailable.reason
    is_refused = answer.status in {CONFLICT, UNPROCESSABLE} and row["kind"] == "propose"
    # The other side has closed the pool, and this one follows.
    is_moot = answer.status == NOT_FOUND and row["kind"] != "propose"
    if answer.status != OK and not is_refused and not is_moot:
        return f"status_{answer.status}"
    await runtime.database.transaction(
        lambda tx: _answered(tx, runtime, peer.spiffe_id or "", row["act_id"], is_refused=is_refused)
    )
    return None


async def _answered(tx: Tx, runtime: Runtime, peer: str, act_id: UUID, *, is_refused: bool) -> None:
    if await store.finish_act(tx, act_id) and is_refused:
        await _withdraw(tx, runtime, peer)


async def _withdraw(tx: Tx, runtime: Runtime, peer: str) -> None:
    """The peer refused the pool: the reserve goes back to the treasury."""
    pool = await store.find_pool(tx, peer, lock=True)
    if pool is None:
        return
    await end_pool(tx, pool, runtime.settings)


async def end_pool(tx: Tx, pool: Pool, settings: Settings) -> None:
    """Delete a locked pool; its own reserve goes back to the treasury. Raises: PoolBusy."""
    if pool.is_busy:
        raise PoolBusy
    await store.delete_pool(tx, pool.peer)
    book = ledger.Book.of(settings)
    if pool.reserve_own:
        order = ledger.orders.fund(book.leg(pool.frame), book.treasury, pool.reserve_own, str(uuid4()))
        await ledger.apply(tx, [order], book)


async def end_with(tx: Tx, peer: str, settings: Settings) -> None:
    """End the pool with a peer that is deleted, with which no swap is pending; the acts that it was not sent are dropped."""
    pool = await store.find_pool(tx, peer, lock=True)
    if pool is not None:
        await end_pool(tx, pool, settings)
    await store.drop_acts(tx, peer)


async def apply_act(tx: Tx, peer: federation.PeerRecord, act: PoolAct, settings: Settings) -> None:
    """Follow an act of a peer, once. Raises: PoolExists, PoolUnknown, PoolCurrencyDiffers, PoolBusy."""
    assert peer.spiffe_id is not None
    if not await store.hear(tx, peer.spiffe_id, act.act_id):
        return
    if act.kind == "propose":
        await _take_proposal(tx, peer, act, settings.settlement_currency)
        return
    pool = await store.find_pool(tx, peer.spiffe_id, lock=True)
    if act.kind == "close":
        # Both may have closed it at the same moment.
        if pool is not None:
            await end_pool(tx, pool, settings)
        return
    if pool is None:
        raise PoolUnknown
    if act.kind == "terms":
        if not pool.is_home:
            await store.set_terms(tx, pool.peer, act.mode, act.rate)
        return
    if pool.is_home and act.kind == "fund":
        await store.accept_proposal(tx, pool.peer)
    sign = 1 if act.kind == "fund" else -1
    await store.change_by_act(tx, pool.peer, 0, sign * act.amount)


async def _take_proposal(tx: Tx, peer: federation.PeerRecord, act: PoolAct, own_currency: str) -> None:
    assert peer.spiffe_id is not None
    assert peer.ledger_id is not None
    if act.currency == own_currency or act.currency != peer.settlement_currency:
        raise PoolCurrencyDiffers
    pool = Pool.new(
        peer.spiffe_id,
        peer.ledger_id,
        act.currency,
        is_home=False,
        mode=act.mode,
        rate=act.rate,
        proposed=act.asked,
        reserve_foreign=act.amount,
    )
    if not await store.add_pool(tx, pool):
        raise PoolExists
