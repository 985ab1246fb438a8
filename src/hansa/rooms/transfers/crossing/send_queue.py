"""Messages of the callers of this process to each peer, in batches: those that arrive while a request is under way are the next one.

- A prepare waits here for the decision; the COMMITs and confirmations that follow travel with the prepares of others.
- Nothing is kept here that is not in a row: a message lost with the process is sent again when its row is due.
- A peer has its own queue, so a slow one does not delay the others. A full queue refuses new transfers with 503.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from uuid import UUID

import asyncpg
import msgspec
import structlog

from hansa.foundation.plumbing.process.runtime import Runtime, Slot
from hansa.foundation.values.errors import Unavailable
from hansa.rooms import federation

from . import sent_store
from .channel import BATCH, CHANNEL, abort_now
from .corridor import Corridor
from .high_water import HIGH_WATER
from .messages import Message, MessageType

AT_ONCE = 2
"""Requests under way to one peer: while it works on one, this process works on the answers to the other."""
WAITING_MAX = 2000
"""Messages of one peer that wait: more than two seconds of the rate that two registries reach."""

_log = structlog.get_logger()


class _Queue(msgspec.Struct):
    """Messages that wait for one peer, and the callers that wait for a decision, by transfer."""

    corridor: Corridor
    waiting: deque[Message] = msgspec.field(default_factory=deque)
    callers: dict[UUID, asyncio.Future[asyncpg.Record]] = msgspec.field(default_factory=dict)
    senders: set[asyncio.Task[None]] = msgspec.field(default_factory=set)


class SendQueues:
    """The queues of one process."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._queues: dict[str, _Queue] = {}

    def require_room(self, corridor: Corridor) -> None:
        """Asked before units are reserved. Raises: Unavailable."""
        queue = self._queues.get(corridor.key)
        if queue is not None and len(queue.waiting) >= WAITING_MAX:
            raise Unavailable(
                "Too many transfers to this registry are waiting; retry shortly.", retry_after=1
            )

    async def decided(self, corridor: Corridor, prepare: Message) -> asyncpg.Record:
        """Send the prepare of a transfer that is reserved; its row once it is decided.

        Where the peer does not answer, the transfer is aborted. The row may show it as reserved still while this registry
        may not decide. Raises: Unavailable.
        """
        queue = self._queues.setdefault(corridor.key, _Queue(corridor))
        queue.corridor = corridor
        outcome: asyncio.Future[asyncpg.Record] = asyncio.get_running_loop().create_future()
        assert prepare.body is not None
        queue.callers[UUID(prepare.body.transfer_id)] = outcome
        queue.waiting.append(prepare)
        self._send(queue)
        return await outcome

    async def close(self) -> None:
        """End the requests that are under way; their rows stay as they are."""
        senders = [sender for queue in self._queues.values() for sender in queue.senders]
        for sender in senders:
            sender.cancel()
        await asyncio.gather(*senders, return_exceptions=True)

    def _send(self, queue: _Queue) -> None:
        if queue.waiting and len(queue.senders) < AT_ONCE:
            sender = asyncio.create_task(self._sent(queue))
            queue.senders.add(sender)
            sender.add_done_callback(queue.senders.discard)

    async def _sent(self, queue: _Queue) -> None:
        while queue.waiting:
            batch = [queue.waiting.popleft() for _ in range(min(BATCH, len(queue.waiting)))]
            callers = _callers_of(queue, batch)
            try:
                queue.waiting += await self._answered(queue.corridor, batch)
                self._send(queue)
                await self._return_rows(queue.corridor, callers)
            except Unavailable as error:
                _fail(callers, error)
            finally:
                for caller in callers.values():
                    caller.cancel()

    async def _answered(self, corridor: Corridor, batch: Sequence[Message]) -> Sequence[Message]:
        try:
            return await CHANNEL.send(self._runtime, corridor.peer, batch)
        except federation.mailbox.PeerUnavailable as unavailable:
            _log.info(
                "a peer did not answer", peer=corridor.frame, reason=unavailable.reason, count=len(batch)
            )
            return []

    async def _return_rows(
        self, corridor: Corridor, callers: dict[UUID, "asyncio.Future[asyncpg.Record]"]
    ) -> None:
        """Give each caller its row; a transfer that the peer's answer did not decide is aborted before."""
        if not callers:
            return
        rows = await self._rows(callers)
        undecided = [transfer_id for transfer_id, row in rows.items() if row["state"] == "reserved"]
        if undecided:
            await self._runtime.database.transaction(lambda tx: abort_now(tx, corridor, undecided))
            rows |= await self._rows(undecided)
        for transfer_id, caller in callers.items():
            if not caller.done():
                caller.set_result(rows[transfer_id])

    async def _rows(self, transfer_ids: Collection[UUID]) -> dict[UUID, asyncpg.Record]:
        return await self._runtime.database.query(lambda tx: sent_store.outcomes(tx, list(transfer_ids)))


SEND_QUEUES: Slot[SendQueues] = Slot("transfers: messages that wait for peers", build=SendQueues)


@asynccontextmanager
async def open_send_queues(runtime: Runtime) -> AsyncIterator[None]:
    """Judge before the process serves whether its database is the last one; at the end, end the requests that are under way."""
    await HIGH_WATER.of(runtime).compare()
    try:
        yield
    finally:
        await SEND_QUEUES.of(runtime).close()


def _callers_of(queue: _Queue, batch: Sequence[Message]) -> dict[UUID, "asyncio.Future[asyncpg.Record]"]:
    """Return the callers that wait for the prepares of this batch; from now on they are this request's."""
    ids = [UUID(one.body.transfer_id) for one in batch if one.type is MessageType.PREPARE and one.body]
    return {
        transfer_id: queue.callers.pop(transfer_id) for transfer_id in ids if transfer_id in queue.callers
    }


def _fail(callers: dict[UUID, "asyncio.Future[asyncpg.Record]"], error: Unavailable) -> None:
    for caller in callers.values():
        if not caller.done():
            caller.set_exception(error)
