"""Group commit: the orders that wait while one batch commits are the next batch.

- A batch is one statement and one commit (`sql/apply.sql`): a refused order never fails its neighbours, and orders given
  together are all done or none.
- The queue is bounded: further orders are refused with 503 at once.
- Between two batches the database waits for as little as possible: an order is encoded when it arrives and its result
  read by its own caller, while the next batch runs. So that there is a next batch, one holds only half of the orders at hand.
- A second batch is sent beside the first as soon as as many wait as are under way: its keys are looked up, and accounts that
  the first does not have locked are decided on, while the first is written. A busy process waits for more: while the database
  decides on one half, it answers and takes in the other.
"""

import asyncio
import itertools
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TypeAlias, TypeVar

import asyncpg
import msgspec

from hansa.foundation.plumbing.process.runtime import Slot
from hansa.foundation.plumbing.storage.database import Database, PinnedConnection, Tx
from hansa.foundation.plumbing.telemetry.metrics import (
    batch_seconds,
    batch_size,
    postings_total,
    transfers_waiting,
)
from hansa.foundation.plumbing.telemetry.tracing import TRACE, Trace, tracing
from hansa.foundation.plumbing.web.changed_caller import CallerChanged
from hansa.foundation.plumbing.web.idempotency import Answer, KeyInProgress, Repeatable
from hansa.foundation.values.canonical import digest
from hansa.foundation.values.errors import Refused, Unavailable
from hansa.foundation.values.money import Minor

from . import orders, rules
from .book import Book
from .engine import CARRIED_OUT, decide, refusal_of
from .extensions import ClaimRefused
from .orders import Order, TransferOrder
from .posting import Preview, Receipt, is_of_receipts, preview, stored_receipts

# Both in orders. Of those given together a batch takes few, so that single transfers do not wait long for it.
BATCH_MAX = 500
GROUP_LINES_MAX = 100
WAITING_MAX = 4000
# Fewer are not halved: a batch by itself costs about as much as the transfers of 32.
SPLIT_MIN = 32
BATCHES_MAX = 2
"""How many are under way at a time."""
BUSY_FROM = 0.5
"""From which part of the time on a process counts as busy: its thread runs so much of it."""
BUSY_SPLIT_MIN = 64
"""How many wait before a busy process sends a second batch."""

T = TypeVar("T")

_ENCODER = msgspec.json.Encoder()

_POSTED = postings_total.labels("transfer")

_groups = itertools.count(1)


Row: TypeAlias = asyncpg.Record
"""What the database decided on one transfer of a batch."""


class Ticket(msgspec.Struct, frozen=True, eq=False):
    """Orders that wait for their batch, all to be done or none; `render` makes the answer of their receipts."""

    orders: Sequence[Order]
    render: Callable[[Sequence[Receipt]], str]
    refusal: Refused | None
    """Why they are refused whatever the accounts hold, unless their key says that they were answered before."""
    lines: Sequence[bytes]
    """The orders as the database reads them."""
    outcome: asyncio.Future[Sequence[Row]]
    trace: Trace | None = None
    """Trace of the request, while traces are exported."""

    @classmethod
    def of(
        cls,
        given: Sequence[Order],
        request: Repeatable | None,
        render: Callable[[Sequence[Receipt]], str],
        refusal: Refused | None = None,
    ) -> "Ticket":
        """A ticket for the queue of the running event loop."""
        if len(given) > 1:
            number = next(_groups) & 0x7FFFFFFF
            given = [order.in_group(number) for order in given]
        if request is not None or refusal is not None:
            given = [_keyed(given[0], request, barred=refusal is not None), *given[1:]]
        lines = [_ENCODER.encode(order) for order in given]
        outcome = asyncio.get_running_loop().create_future()
        return cls(given, render, refusal, lines, outcome, TRACE.get() if tracing.is_on else None)

    @classmethod
    def of_transfer(
        cls,
        order: TransferOrder,
        request: Repeatable | None,
        render: Callable[[Receipt], str],
        caller_version: int | None = None,
    ) -> "Ticket":
        """A ticket for one transfer."""
        refusal = _refused_at_sight(order)
        return cls.of(
            [orders.transfer(order, caller_version)], request, lambda made: render(made[0]), refusal
        )

    @property
    def is_extended(self) -> bool:
        """Return whether one of its orders has an extension."""
        return any(order.more is not None and order.is_extended for order in self.orders)

    @property
    def scope(self) -> str | None:
        """Return the key that no other ticket of this process may have while this one is under way, or None."""
        return self.orders[0].scope


def _keyed(order: Order, request: Repeatable | None, *, barred: bool) -> Order:
    """The order with the key of its request."""
    scope = body_digest = None
    if request is not None:
        scope, body_digest = request.scope.hex(), digest(request.body).hex()
    return Order(
        order.debit,
        order.credit,
        order.amount,
        order.message,
        order.more,
        scope,
        body_digest,
        barred,
        order.caller,
        order.caller_version,
    )


Decided: TypeAlias = Sequence[tuple[Ticket, Sequence[Row]]]


class Usage:
    """For which part of the time the thread of the event loop ran, over the last batches."""

    WEIGHT = 0.1

    def __init__(self) -> None:
        self._part = 0.0
        self._at, self._ran = time.monotonic(), time.thread_time()

    def measure(self) -> None:
        """Take the time since the last call into account."""
        at, ran = time.monotonic(), time.thread_time()
        if at > self._at:
            self._part += self.WEIGHT * ((ran - self._ran) / (at - self._at) - self._part)
        self._at, self._ran = at, ran

    @property
    def whole(self) -> int:
        """How many wait before a second batch is sent."""
        return BUSY_SPLIT_MIN if self._part >= BUSY_FROM else SPLIT_MIN


class GroupCommit:
    """Gathers the transfers of one process into batches."""

    def __init__(self, database: Database, book: Book) -> None:
        self._database = database
        self._book = book
        self._waiting: deque[Ticket] = deque()
        self._scopes: set[str] = set()
        self._workers: set[asyncio.Task[None]] = set()
        self._under_way = 0
        """How many tickets the database decides on."""
        self._usage = Usage()

    async def transfer(
        self,
        order: TransferOrder,
        request: Repeatable | None,
        render: Callable[[Receipt], str],
        caller_version: int | None = None,
    ) -> Answer:
        """Carry out `posting.transfer` and store its answer under the request's key; durable when this returns.

        With `caller_version` it is carried out only if the payer still has that version.

        Raises: the errors of `posting.transfer`, CallerChanged, KeyReused, KeyInProgress, Unavailable.
        """
        ticket = Ticket.of_transfer(order, request, render, caller_version)
        return answer_of(ticket, await self._decided(ticket))

    async def submit(
        self,
        given: Sequence[Order],
        request: Repeatable | None,
        render: Callable[[Sequence[Receipt]], str],
        render_again: Callable[[str], str] | None = None,
    ) -> Answer:
        """Carry out orders of any kind, all or none; durable when this returns.

        `render_again` makes the answer from the one that another path of this act stored under the same key.

        Raises: the refusal of the first order that cannot be carried out, which is ClaimRefused where its extension
        refused it, KeyReused, KeyInProgress, Unavailable.
        """
        ticket = Ticket.of(given, request, render)
        rows = await self._decided(ticket)
        if (
            render_again is not None
            and rows[0]["outcome"] == "replayed"
            and not is_of_receipts(rows[0]["answer"])
        ):
            return Answer(render_again(rows[0]["answer"]), replayed=True)
        return answer_of(ticket, rows)

    async def carry_out(self, given: Sequence[Order]) -> list[Receipt]:
        """Carry out orders without a key, as `submit` does, and return their receipts."""
        ticket = Ticket.of(given, None, lambda _: "")
        return receipts_of(ticket, await self._decided(ticket))

    def _decided(self, ticket: Ticket) -> asyncio.Future[Sequence[Row]]:
        """Return a future of the rows that the database decides on for the ticket. Raises: KeyInProgress, Unavailable."""
        if len(self._waiting) >= WAITING_MAX:
            raise Unavailable("Too many transfers are waiting; retry shortly.", retry_after=1)
        if (scope := ticket.scope) is not None:
            if scope in self._scopes:
                raise KeyInProgress
            self._scopes.add(scope)
        self._waiting.append(ticket)
        working = {worker for worker in self._workers if not worker.done()}
        if not working or (len(working) < BATCHES_MAX and self._under_way and self._is_due()):
            self._workers = working | {asyncio.create_task(self._commit_batches())}
        return ticket.outcome

    async def preview(self, order: TransferOrder) -> Preview:
        """Return the fee and the balance that `transfer` would give now; nothing is moved or reserved. Raises: as `posting.transfer`."""
        return await self._database.read(lambda tx: preview(tx, order, self._book))

    def _is_due(self) -> bool:
        """Return whether a batch is to be sent now: none is under way, or as many wait as are."""
        return bool(self._waiting) and (
            not self._under_way or len(self._waiting) >= max(self._usage.whole, self._under_way)
        )

    async def _commit_batches(self) -> None:
        while self._is_due():
            try:
                async with self._database.pinned() as pinned:
                    await self._keep_committing(pinned)
            except Unavailable as error:
                self._fail(self._taken(BATCH_MAX), error)

    async def _keep_committing(self, pinned: PinnedConnection) -> None:
        """One batch after the other, until none waits or the connection is no longer good."""
        decided: Decided = []
        while self._is_due():
            tickets = self._next_batch(still_to_come=len(decided))
            self._under_way += len(tickets)
            posting = partial(post_batch, tickets=tickets, book=self._book)
            began = time.perf_counter()
            batch = tracing.begin_batch(ticket.trace for ticket in tickets) if tracing.is_on else None
            TRACE.set(batch)
            committing = asyncio.create_task(pinned.execute(posting))
            # The next batch is sent before the callers of the last one go on.
            self._return_outcomes(decided)
            decided = []
            try:
                decided = list(zip(tickets, await committing, strict=True))
                batch_seconds.observe(time.perf_counter() - began)
            except Unavailable as error:
                self._fail(tickets, error)
                return
            except Exception:  # noqa: BLE001
                # Something in the batch cannot be written, which half of it after half finds.
                await self._settle_halves(tickets)
            finally:
                self._under_way -= len(tickets)
                self._usage.measure()
                tracing.end_batch(batch, len(tickets))
        self._return_outcomes(decided)

    def _next_batch(self, still_to_come: int) -> list[Ticket]:
        """Half of the transfers that are about, those `still_to_come` from callers not yet answered included.

        While the database decides on one half, this process answers and takes in the other. All that wait where a batch is under way.
        """
        about = len(self._waiting) + still_to_come
        share = len(self._waiting) if self._under_way else (about + 1) // 2
        tickets = self._taken(min(max(SPLIT_MIN, share), BATCH_MAX))
        batch_size.observe(len(tickets))
        return tickets

    def _taken(self, most: int) -> list[Ticket]:
        """The first so many that wait, who wait no longer: fewer where some of them hold many orders."""
        tickets: list[Ticket] = []
        lines = together = 0
        while self._waiting and len(tickets) < most:
            size = len(self._waiting[0].orders)
            together += size if size > 1 else 0
            lines += size
            if tickets and (lines > BATCH_MAX or together > GROUP_LINES_MAX):
                break
            tickets.append(self._waiting.popleft())
        transfers_waiting.set(len(self._waiting))
        return tickets

    async def _settle_halves(self, tickets: list[Ticket]) -> None:
        """Carry out a batch that failed in two halves, each again in halves until only single tickets fail."""
        middle = len(tickets) // 2
        for half in filter(None, (tickets[:middle], tickets[middle:])):
            posting = partial(post_batch, tickets=half, book=self._book)
            try:
                self._return_outcomes(list(zip(half, await self._database.transaction(posting), strict=True)))
            except Exception as error:  # noqa: BLE001
                if len(half) == 1 or isinstance(error, Unavailable):
                    self._fail(half, error)
                else:
                    await self._settle_halves(half)

    def _return_outcomes(self, decided: Decided) -> None:
        for ticket, found in decided:
            self._release(ticket)
            # A client that went away did not undo its transfer, and gets no answer.
            if not ticket.outcome.cancelled():
                ticket.outcome.set_result(found)

    def _fail(self, tickets: list[Ticket], error: Exception) -> None:
        for ticket in tickets:
            self._release(ticket)
            if not ticket.outcome.cancelled():
                ticket.outcome.set_exception(error)

    def _release(self, ticket: Ticket) -> None:
        """Its transfer has come to an end: the key may be used again."""
        if (scope := ticket.scope) is not None:
            self._scopes.discard(scope)


GROUP_COMMIT: Slot[GroupCommit] = Slot(
    "ledger: group commit", build=lambda runtime: GroupCommit(runtime.database, Book.of(runtime.settings))
)
"""Batch of the transfers of this process."""


async def try_in_batch(act: Awaitable[T], *, final: tuple[type[Refused], ...] = ()) -> T | None:
    """Await an act in the batch; None where it is refused there: it is then carried out alone, which gives the reason.

    Raises: Unavailable, and the refusals in `final`, which an act alone would meet as well.
    """
    try:
        return await act
    except Unavailable:
        raise
    except final:
        raise
    except (Refused, ClaimRefused):
        return None


async def post_batch(tx: Tx, tickets: Sequence[Ticket], book: Book) -> list[Sequence[Row]]:
    """Decide and write the tickets in their order, in one statement; `answer_of` reads the outcome of each."""
    lines = [line for ticket in tickets for line in ticket.lines]
    extended = any(ticket.is_extended for ticket in tickets)
    rows = iter(await decide(tx, lines, book, extended=extended))
    return [list(itertools.islice(rows, len(ticket.lines))) for ticket in tickets]


def answer_of(ticket: Ticket, rows: Sequence[Row]) -> Answer:
    """The answer to a ticket on which the database decided.

    Raises: the refusal of its first order that cannot be carried out, ClaimRefused, CallerChanged, KeyReused, KeyInProgress.
    """
    match rows[0]["outcome"]:
        case "replayed":
            receipts = stored_receipts(rows[0]["answer"], Minor(ticket.orders[0].amount))
            return Answer(ticket.render(receipts), replayed=True)
        case "barred":
            assert ticket.refusal is not None
            raise ticket.refusal
    return Answer(ticket.render(receipts_of(ticket, rows)), replayed=False)


def receipts_of(ticket: Ticket, rows: Sequence[Row]) -> list[Receipt]:
    """The receipts of a ticket on which the database decided now. Raises: as `answer_of`."""
    for order, row in zip(ticket.orders, rows, strict=True):
        if row["outcome"] == "caller_changed":
            raise CallerChanged
        if row["outcome"] not in (*CARRIED_OUT, "undone"):
            raise refusal_of(order, row)
    return [_receipt(order, row) for order, row in zip(ticket.orders, rows, strict=True)]


def _receipt(order: Order, row: Row) -> Receipt:
    if row["tx_id"] is not None and row["outcome"] == "posted":
        (_POSTED if order.more is None else postings_total.labels(order.more.tx_type)).inc()
    return Receipt(
        row["tx_id"],
        Minor(row["moved"]),
        Minor(row["fee"] or 0),
        Minor(row["balance"] or 0),
        row["recorded_at"],
        row["hold_id"],
        row["answer"],
    )


def _refused_at_sight(order: TransferOrder) -> Refused | None:
    # Before any lock: the registry's own accounts are only ever locked after the agents'.
    try:
        rules.require_ordinary_parties(order.payer, order.payee)
    except Refused as refusal:
        return refusal
    return None
