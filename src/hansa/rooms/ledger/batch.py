"""Group commit: the transfers that wait while one batch commits are the next batch.

- A batch is one statement and one commit (`ledger_transfer_batch`): accounts locked once in id order, transfers decided
  one by one in their order, each seeing the effect of the earlier ones, everything written set by set. A refused
  transfer never fails its neighbours.
- The fee collector is touched once per batch, after the agents' accounts; transaction ids are given out under its
  lock, so that they rise in the order in which every account changed.
- Same outcome as `posting.transfer`, one order at a time, which remains the judge in `tests/properties`.
- The queue is bounded: what does not fit is refused with 503 at once.
- Between two batches the database waits for as little as possible: an order is encoded when it arrives and its outcome
  read by its own caller, while the next batch runs. So that there is a next batch, one is only half of what is about.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

import asyncpg
import msgspec

from hansa.foundation.plumbing import idempotency
from hansa.foundation.plumbing.database import Database, Lane, Tx
from hansa.foundation.plumbing.idempotency import KeyInProgress, KeyReused, Repeatable
from hansa.foundation.plumbing.metrics import batch_size, postings_total, transfers_waiting
from hansa.foundation.words.canonical import digest
from hansa.foundation.words.errors import Refused, Unavailable

from . import rules, store
from .book import Book
from .errors import AccountUnknown
from .posting import Preview, Receipt, TransferOrder, preview, transfer

BATCH_MAX = 500
WAITING_MAX = 4000
# Fewer are not halved: a batch costs something by itself.
WHOLE_MAX = 16

_POSTED = postings_total.labels("transfer")


class Told(msgspec.Struct, frozen=True):
    """The answer to a transfer as it goes out, and whether it is a repetition."""

    answer: str
    replayed: bool


Row: TypeAlias = asyncpg.Record
"""What the database decided on one transfer of a batch."""


class Ticket(msgspec.Struct, frozen=True, eq=False):
    """A transfer that waits for its batch; `tell` makes the answer of a receipt, the first time and every other."""

    order: TransferOrder
    request: Repeatable | None
    tell: Callable[[Receipt], str]
    refusal: Refused | None
    """Why it is refused whatever the accounts hold, unless its key says that it was answered before."""
    scope: str | None
    """What no other transfer of this process may have while this one is under way."""
    line: bytes
    """The order as the database reads it."""
    outcome: asyncio.Future[Row | Told]

    @classmethod
    def of(cls, order: TransferOrder, request: Repeatable | None, tell: Callable[[Receipt], str]) -> "Ticket":
        """A ticket for the queue of the running event loop."""
        refusal = _refused_at_sight(order)
        barred = refusal is not None
        written = store.BatchOrder(
            payer=order.payer,
            payee=order.payee,
            amount=order.amount,
            message=order.message,
            scope=request.scope.hex() if request else None,
            digest=digest(request.body).hex() if request else None,
            barred=barred,
        )
        outcome = asyncio.get_running_loop().create_future()
        return cls(order, request, tell, refusal, written.scope, msgspec.json.encode(written), outcome)


Decided: TypeAlias = Sequence[tuple[Ticket, Row | Told]]


class GroupCommit:
    """Gathers the transfers of one process into batches."""

    def __init__(self, database: Database, book: Book, policy: rules.FeePolicy) -> None:
        self._database = database
        self._book = book
        self._policy = policy
        self._waiting: deque[Ticket] = deque()
        self._scopes: set[str] = set()
        self._worker: asyncio.Task[None] | None = None

    async def transfer(
        self, order: TransferOrder, request: Repeatable | None, tell: Callable[[Receipt], str]
    ) -> Told:
        """As `posting.transfer` with its answer remembered; durable when this returns.

        Raises: what `posting.transfer` raises, KeyReused, KeyInProgress, Unavailable.
        """
        if len(self._waiting) >= WAITING_MAX:
            raise Unavailable("Too many transfers are waiting; try again shortly.", retry_after=1)
        ticket = Ticket.of(order, request, tell)
        if ticket.scope:
            if ticket.scope in self._scopes:
                raise KeyInProgress
            self._scopes.add(ticket.scope)
        self._waiting.append(ticket)
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._commit_batches())
        found = await ticket.outcome
        return found if isinstance(found, Told) else told(ticket, found)

    async def preview(self, order: TransferOrder) -> Preview:
        """What `transfer` would do now; nothing is moved or reserved. Raises: as `posting.transfer`."""
        return await self._database.read(lambda tx: preview(tx, order, self._policy))

    async def _commit_batches(self) -> None:
        while self._waiting:
            try:
                async with self._database.lane() as lane:
                    await self._keep_committing(lane)
            except Unavailable as trouble:
                self._fail(self._taken(BATCH_MAX), trouble)

    async def _keep_committing(self, lane: Lane) -> None:
        """One batch after the other, until none waits or the lane is no longer good."""
        decided: Decided = []
        while self._waiting:
            tickets = self._next_batch(still_to_come=len(decided))
            posting = partial(post_batch, tickets=tickets, book=self._book, policy=self._policy)
            committing = asyncio.create_task(lane.act_at_once(posting))
            # The next batch is on its way before the callers of the last one go on.
            self._tell(decided)
            decided = []
            try:
                decided = list(zip(tickets, await committing, strict=True))
            except Unavailable as trouble:
                self._fail(tickets, trouble)
                return
            except Exception:  # noqa: BLE001
                # Something in the batch cannot be written; alone, each transfer finds out for itself.
                for ticket in tickets:
                    await self._settle_alone(ticket)
        self._tell(decided)

    def _next_batch(self, still_to_come: int) -> list[Ticket]:
        """Half of the transfers that are about, those `still_to_come` from callers not yet answered included.

        While the database decides on one half, this process answers and takes in the other.
        """
        about = len(self._waiting) + still_to_come
        tickets = self._taken(min(max(WHOLE_MAX, (about + 1) // 2), BATCH_MAX))
        batch_size.observe(len(tickets))
        return tickets

    def _taken(self, most: int) -> list[Ticket]:
        """The first so many that wait, who wait no longer."""
        tickets = [self._waiting.popleft() for _ in range(min(most, len(self._waiting)))]
        transfers_waiting.set(len(self._waiting))
        return tickets

    async def _settle_alone(self, ticket: Ticket) -> None:
        try:
            found = await self._database.act(lambda tx: post_alone(tx, ticket, self._book, self._policy))
        except Exception as trouble:  # noqa: BLE001
            self._fail([ticket], trouble)
        else:
            self._tell([(ticket, found)])

    def _tell(self, decided: Decided) -> None:
        for ticket, found in decided:
            self._release(ticket)
            # A client that went away did not undo its transfer, and is not told.
            if not ticket.outcome.cancelled():
                ticket.outcome.set_result(found)

    def _fail(self, tickets: list[Ticket], trouble: Exception) -> None:
        for ticket in tickets:
            self._release(ticket)
            if not ticket.outcome.cancelled():
                ticket.outcome.set_exception(trouble)

    def _release(self, ticket: Ticket) -> None:
        """Its transfer has come to an end: the key may be used again."""
        if ticket.scope:
            self._scopes.discard(ticket.scope)


async def post_alone(tx: Tx, ticket: Ticket, book: Book, policy: rules.FeePolicy) -> Told:
    """One transfer in a transaction of its own: the plain way."""
    if ticket.request and (kept := await idempotency.recall(tx, ticket.request)) is not None:
        return _told_again(ticket, kept)
    receipt = await transfer(tx, ticket.order, book, policy)
    if ticket.request:
        await idempotency.remember(tx, ticket.request, receipt.as_text())
    return Told(ticket.tell(receipt), replayed=False)


async def post_batch(tx: Tx, tickets: Sequence[Ticket], book: Book, policy: rules.FeePolicy) -> list[Row]:
    """Decide and write the transfers in their order, in one statement; `told` says what became of each."""
    return await store.transfer_batch(tx, book, policy, [ticket.line for ticket in tickets])


def told(ticket: Ticket, row: Row) -> Told:
    """The answer to a transfer on which the database decided. Raises: as `posting.transfer`, KeyReused, KeyInProgress."""
    order = ticket.order
    match row["outcome"]:
        case "posted":
            _POSTED.inc()
            receipt = Receipt(row["tx_id"], order.amount, row["fee"], row["balance"], row["recorded_at"])
            return Told(ticket.tell(receipt), replayed=False)
        case "replayed":
            return _told_again(ticket, row["answer"])
        case "barred":
            assert ticket.refusal is not None
            raise ticket.refusal
        case "uncovered":
            raise rules.uncovered(row["balance"], order.amount + row["fee"])
        case refused:
            raise _REFUSALS[refused](order)


def _refused_at_sight(order: TransferOrder) -> Refused | None:
    # Before any lock: the registry's own accounts are only ever locked after the agents'.
    try:
        rules.require_ordinary_parties(order.payer, order.payee)
    except Refused as refusal:
        return refusal
    return None


_REFUSALS: dict[str, Callable[[TransferOrder], Refused]] = {
    "payer_unknown": lambda order: AccountUnknown(context={"did": order.payer}),
    "payee_unknown": lambda order: AccountUnknown(context={"did": order.payee}),
    "payer_suspended": lambda order: rules.suspended(order.payer),
    "payee_suspended": lambda order: rules.suspended(order.payee),
    "key_reused": lambda _: KeyReused(),
    "key_in_progress": lambda _: KeyInProgress(),
}


def _told_again(ticket: Ticket, kept: str) -> Told:
    return Told(ticket.tell(Receipt.of_text(kept, ticket.order.amount)), replayed=True)
