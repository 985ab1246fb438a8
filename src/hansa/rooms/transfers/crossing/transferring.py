"""Send units to an agent of another registry: reserve, ask its registry to prepare, decide.

The caller waits for the decision (`2pc`), or not (`async`): the protocol is the same, and every step is durable. An ABORT
gives everything back and frees the Idempotency-Key.

Corridors that the callers of this process need, read in batches.

Requests made while a reading is under way wait for the next reading: each answer rests on a reading that began after its request,
so a commit before the request, a suspension for example, is seen.
"""

import asyncio
from collections.abc import Mapping
from uuid import UUID, uuid4

import asyncpg
import msgspec

from hansa.foundation.plumbing.process.runtime import Runtime, Slot
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web import idempotency
from hansa.foundation.plumbing.web.caller import Agent
from hansa.foundation.plumbing.web.idempotency import Repeatable
from hansa.foundation.plumbing.web.in_process import InCommit
from hansa.foundation.values.errors import Refused, Unavailable
from hansa.foundation.values.money import Minor
from hansa.rooms import agents, ledger

from . import sent_store, store
from .channel import abort_now
from .corridor import Corridor
from .destination import NoCorridor, corridors_to
from .errors import PeerRewound, refusal_of
from .messages import Message
from .reading import view_of_answer
from .records import Bounds, CrossingView
from .reserving import CALLER_SECONDS, CrossingRequest, Reserved, reserve, stored_transfer
from .send_queue import SEND_QUEUES
from .swap_batch import SWAP_BATCHES
from .swapping_out import OutTerms, swap_terms

XREG_PERMISSION = "teg.transfer_xreg"
FIRST_LOOK_SECONDS, LONGEST_LOOK_SECONDS = 0.02, 0.25
Found = Corridor | NoCorridor | Unavailable


class Crossed(msgspec.Struct, frozen=True):
    """A transfer that this registry sent, as it stands."""

    crossing: CrossingView
    replayed: bool


async def cross(
    runtime: Runtime, agent: Agent, corridor: Corridor, crossing_request: CrossingRequest
) -> Crossed | agents.Approval:
    """Carry the transfer out, or ask the agent's owner.

    Raises: the errors of `agents.clear_payment` and the ledger, PeerRewound, KeyReused, KeyInProgress, the refusals of swaps and
    quotes, and why the receiver's registry refused.
    """
    queues = SEND_QUEUES.of(runtime)
    queues.require_room(corridor)
    reserved = await _reserved(runtime, agent, corridor, crossing_request)
    if isinstance(reserved, agents.Approval):
        return reserved
    if reserved.prepare is not None and crossing_request.backend == "2pc":
        row = await _decided(runtime, corridor, reserved.transfer_id, reserved.prepare)
    else:
        row = await _outcome(runtime, reserved.transfer_id)
    if row["state"] == "aborted":
        raise refusal_of(row["code"], str(reserved.transfer_id))
    return Crossed(view_of_answer(row), replayed=reserved.prepare is None)


async def _reserved(
    runtime: Runtime, agent: Agent, corridor: Corridor, crossing_request: CrossingRequest
) -> Reserved | agents.Approval:
    """Swaps that nothing but the agent's roles has a say in gather with others of their pool."""
    if corridor.currency_received is not None and crossing_request.is_plain(agent):
        reserved = await SWAP_BATCHES.of(runtime).reserved(corridor, crossing_request)
        if reserved is not None:
            return reserved
    return await reserve(runtime, agent, corridor, crossing_request)


async def _decided(
    runtime: Runtime, corridor: Corridor, transfer_id: UUID, prepare: Message
) -> asyncpg.Record:
    """The row once the peer answered; without an answer in time the transfer is aborted."""
    try:
        async with asyncio.timeout(CALLER_SECONDS):
            row = await SEND_QUEUES.of(runtime).decided(corridor, prepare)
    except TimeoutError:
        await runtime.database.transaction(lambda tx: abort_now(tx, corridor, [transfer_id]))
        return await _outcome(runtime, transfer_id)
    return row if row["state"] != "reserved" else await _outcome(runtime, row["transfer_id"])


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
    row = await runtime.database.query(lambda tx: sent_store.sent_row(tx, transfer_id))
    assert row is not None
    return row


async def preview_crossing(
    tx: Tx, corridor: Corridor, order: ledger.TransferOrder, bounds: Bounds
) -> tuple[Minor, OutTerms]:
    """Return the balance that the payer would have left, and the terms of the transfer; nothing is written. Raises: as the reserve."""
    await require_open(tx, corridor)
    reserve = ledger.ReserveOut(corridor.frame, uuid4(), order.payer, order.amount, order.payee)
    (result,) = await ledger.apply(tx, [reserve.order(corridor.book)], corridor.book, dry=True)
    return result.balance, await swap_terms(tx, corridor, order, bounds)


async def require_open(tx: Tx, corridor: Corridor) -> None:
    """Require a pair that is open. Raises: PeerRewound, while the two registries do not agree on the decisions."""
    if not (await store.find_pair(tx, corridor.key)).is_open or await sent_store.has_doubt(tx, corridor.key):
        raise PeerRewound


async def across(
    runtime: Runtime, agent: Agent, crossing_request: CrossingRequest
) -> Crossed | agents.Approval:
    """Carry a transfer to another registry out, or ask the agent's owner. Raises: as `cross` and `corridor_to`.

    A request that was carried out before gets its answer, whatever became of the other registry since.
    """
    try:
        corridor = await CORRIDORS.of(runtime).to(crossing_request.order.payee)
        return await cross(runtime, agent, corridor, crossing_request)
    except Refused:
        replayed = await _replayed(runtime, crossing_request.request)
        if replayed is None:
            raise
        return replayed


async def _replayed(runtime: Runtime, request: Repeatable | None) -> Crossed | None:
    """The first answer under this key; None where there is none. Raises: KeyReused, KeyInProgress."""
    if request is None:
        return None
    stored = await runtime.database.transaction(lambda tx: idempotency.recall(tx, request))
    if stored is None:
        return None
    row = await _outcome(runtime, stored_transfer(stored).crossing)
    return None if row["state"] == "aborted" else Crossed(view_of_answer(row), replayed=True)


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
    in_commit: InCommit | None = None,
) -> CrossingRequest:
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
    return CrossingRequest(order, payment, request, backend or standard, bounds, in_commit)


class Corridors:
    """The questions of one process."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._pending: dict[str, asyncio.Future[Found]] = {}
        self._reading: asyncio.Task[None] | None = None

    async def to(self, did: str) -> Corridor:
        """The corridor by which units reach the DID now. Raises: as `corridor_to`, Unavailable."""
        answer = self._pending.get(did)
        if answer is None:
            answer = self._pending[did] = asyncio.get_running_loop().create_future()
        if self._reading is None or self._reading.done():
            self._reading = asyncio.create_task(self._read())
        # Several callers may await one answer; the end of one of them does not take it from the others.
        found = await asyncio.shield(answer)
        if isinstance(found, Corridor):
            return found
        raise found.refusal() if isinstance(found, NoCorridor) else found

    async def _read(self) -> None:
        while self._pending:
            asked, self._pending = self._pending, {}
            try:
                found = await self._found(list(asked))
                for did, answer in asked.items():
                    answer.set_result(found[did])
            finally:
                for answer in asked.values():
                    answer.cancel()

    async def _found(self, dids: list[str]) -> Mapping[str, Found]:
        try:
            return await self._runtime.database.query(lambda tx: corridors_to(tx, dids, self._runtime))
        except Unavailable as error:
            return dict.fromkeys(dids, error)


CORRIDORS: Slot[Corridors] = Slot("transfers: corridors that callers ask for", build=Corridors)
