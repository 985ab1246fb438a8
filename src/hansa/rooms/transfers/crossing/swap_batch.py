"""Swaps that leave, gathered: those of one pool that wait at the same moment are priced one after the other and written together.

- The pool is locked once and flushed once for all of them; each is priced with those before it pending, as if it came alone.
- A swap that a spend policy or a capability has a say in is judged by itself (`reserving.py`).
- Where the ledger refuses one, the transaction is undone, and each is carried out by itself.
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import TypeAlias
from uuid import UUID

import msgspec

from hansa.foundation.plumbing import jobs
from hansa.foundation.plumbing.process.runtime import Runtime, Slot
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web import idempotency
from hansa.foundation.values.errors import Refused, Unavailable
from hansa.rooms import ledger
from hansa.rooms.transfers import pools

from .channel import DELIVERY
from .corridor import Corridor
from .messages import Body
from .money_orders import reserve_out
from .reserving import (
    NO_BUDGET,
    RESERVE,
    CrossingRequest,
    Reserved,
    body_of,
    new_sent,
    stored_transfer,
    text_of,
)
from .swapping_out import OutTerms, prepare_of, priced

BATCH = 64
WAITING_MAX = 2000
"""Swaps of one pool that wait: some seconds of the rate that a pool reaches."""

Outcome: TypeAlias = Reserved | Refused


class _Ticket(msgspec.Struct, frozen=True):
    """A swap that waits, and who waits for it; None as the outcome: to be carried out by itself."""

    crossing_request: CrossingRequest
    outcome: "asyncio.Future[Reserved | None]"

    @property
    def names(self) -> set[object]:
        """Names that no other swap of the same transaction may have: its key, its quote."""
        request, quote = self.crossing_request.request, self.crossing_request.bounds.quote_id
        return {name for name in (request.scope if request else None, quote) if name is not None}


class _Queue(msgspec.Struct):
    corridor: Corridor
    waiting: deque[_Ticket] = msgspec.field(default_factory=deque)
    worker: "asyncio.Task[None] | None" = None


class SwapBatches:
    """The swaps of one process, by peer."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._queues: dict[str, _Queue] = {}

    async def reserved(self, corridor: Corridor, crossing_request: CrossingRequest) -> Reserved | None:
        """The swap, reserved; None where it has to be carried out by itself.

        Raises: Unavailable, KeyReused, KeyInProgress, PoolUnknown, the refusals of swaps and quotes.
        """
        queue = self._queues.setdefault(corridor.key, _Queue(corridor))
        if len(queue.waiting) >= WAITING_MAX:
            raise Unavailable("Too many swaps are waiting; retry shortly.", retry_after=1)
        queue.corridor = corridor
        ticket = _Ticket(crossing_request, asyncio.get_running_loop().create_future())
        queue.waiting.append(ticket)
        if queue.worker is None or queue.worker.done():
            queue.worker = asyncio.create_task(self._work(queue))
        return await ticket.outcome

    async def _work(self, queue: _Queue) -> None:
        while queue.waiting:
            tickets = _taken(queue)
            try:
                await self._carry_out(queue.corridor, tickets)
            finally:
                for ticket in tickets:
                    ticket.outcome.cancel()

    async def _carry_out(self, corridor: Corridor, tickets: Sequence[_Ticket]) -> None:
        requests = [ticket.crossing_request for ticket in tickets]
        outcomes: Sequence[Outcome | None]
        try:
            outcomes = await self._runtime.database.transaction(
                lambda tx: reserve_together(tx, corridor, requests)
            )
        except (Unavailable, pools.PoolUnknown) as error:
            outcomes = [error] * len(tickets)
        except Exception:  # noqa: BLE001
            # What is the matter with one of them it finds by itself; the others go on.
            outcomes = [None] * len(tickets)
        for ticket, outcome in zip(tickets, outcomes, strict=True):
            if ticket.outcome.done():
                continue
            if isinstance(outcome, Refused):
                ticket.outcome.set_exception(outcome)
            else:
                ticket.outcome.set_result(outcome)


SWAP_BATCHES: Slot[SwapBatches] = Slot("transfers: swaps that leave, gathered", build=SwapBatches)


def _taken(queue: _Queue) -> list[_Ticket]:
    """The first that wait, as far as no two of them have a key or a quote in common."""
    tickets: list[_Ticket] = []
    names: set[object] = set()
    while queue.waiting and len(tickets) < BATCH and names.isdisjoint(queue.waiting[0].names):
        ticket = queue.waiting.popleft()
        names |= ticket.names
        tickets.append(ticket)
    return tickets


async def reserve_together(tx: Tx, corridor: Corridor, all_of: Sequence[CrossingRequest]) -> list[Outcome]:
    """Reserve swaps of one pool in their order; each refusal stands in the place of its swap.

    Raises: PoolUnknown, ClaimRefused, and the refusals of the ledger: nothing is then reserved.
    """
    requests = [
        crossing_request.request for crossing_request in all_of if crossing_request.request is not None
    ]
    known = iter(await idempotency.recall_each(tx, requests) if requests else ())
    at_work = await pools.PoolAtWork.locked(tx, corridor.key, corridor.settings)
    outcomes: list[Outcome] = []
    new: list[tuple[CrossingRequest, Body, OutTerms]] = []
    for crossing_request in all_of:
        recalled = None if crossing_request.request is None else next(known)
        if isinstance(recalled, Refused):
            outcomes.append(recalled)
            continue
        if recalled is not None:
            outcomes.append(Reserved(stored_transfer(recalled).crossing, None))
            continue
        try:
            terms = await priced(tx, corridor, at_work, crossing_request.order, crossing_request.bounds)
        except Refused as refusal:
            outcomes.append(refusal)
            continue
        body = body_of(corridor, crossing_request, terms.swap)
        terms.move(at_work, body)
        new.append((crossing_request, body, terms))
        outcomes.append(Reserved(UUID(body.transfer_id), prepare_of(body, terms.fee)))
    await _write(tx, corridor, at_work, new)
    return outcomes


async def _write(
    tx: Tx,
    corridor: Corridor,
    at_work: pools.PoolAtWork,
    new: Sequence[tuple[CrossingRequest, Body, OutTerms]],
) -> None:
    if not new:
        return
    answers = [
        (crossing_request.request, text_of(body))
        for crossing_request, body, _ in new
        if crossing_request.request is not None
    ]
    if answers:
        await idempotency.remember_each(tx, answers)
    if any(crossing_request.backend == "async" for crossing_request, _, _ in new):
        await jobs.enqueue(tx, DELIVERY, corridor.key)
    await at_work.write(tx)
    orders = [
        RESERVE.on(
            reserve_out(corridor, body).order(corridor.book),
            new_sent(corridor, crossing_request, body, NO_BUDGET, terms.fee),
        )
        for crossing_request, body, terms in new
    ]
    await ledger.apply(tx, orders, corridor.book)
