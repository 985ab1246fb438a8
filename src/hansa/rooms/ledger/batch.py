"""Group commit: the transfers that wait while one batch commits are the next batch.

- A batch is one transaction: accounts locked once in id order, transfers decided one by one in their order, each
  seeing the effect of the earlier ones, everything written set by set. A refused transfer never fails its neighbours.
- The fee collector is touched once per batch, after the agents' accounts; transaction ids are given out under its
  lock, so that they rise in the order in which every account changed.
- Same outcome as `posting.transfer`, one order at a time, which remains the judge in `tests/properties`.
- Two batches are under way at once: one is prepared while the other is written. Row locks keep them honest.
- The queue is bounded: what does not fit is refused with 503 at once.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from hansa.foundation.plumbing import idempotency
from hansa.foundation.plumbing.database import Database, Tx
from hansa.foundation.plumbing.idempotency import KeyInProgress, Repeatable
from hansa.foundation.plumbing.metrics import batch_size, postings_total, transfers_waiting
from hansa.foundation.words.errors import Refused, Unavailable
from hansa.foundation.words.money import Minor
from hansa.rooms import journal

from . import rules, store
from .book import Book
from .errors import AccountUnknown
from .posting import Preview, Receipt, TransferOrder, preview, transfer, transfer_events

BATCH_MAX = 500
WAITING_MAX = 4000
# One batch is prepared here while the other is written there.
LANES = 2

Scope = tuple[str, str, str]


@dataclass(frozen=True)
class Told:
    """The answer to a transfer as it goes out, and whether it is a repetition."""

    answer: str
    replayed: bool


@dataclass(frozen=True)
class Ticket:
    """A transfer that waits for its batch; `tell` makes the answer that is sent and remembered."""

    order: TransferOrder
    request: Repeatable | None
    tell: Callable[[Receipt], str]
    outcome: asyncio.Future[Told] = field(compare=False)


@dataclass(frozen=True)
class Decision:
    """A covered transfer: its fee, and both parties as it leaves them."""

    ticket: Ticket
    fee: Minor
    payer: rules.Account
    payee: rules.Account


class GroupCommit:
    """Gathers the transfers of one process into batches."""

    def __init__(self, database: Database, book: Book, policy: rules.FeePolicy) -> None:
        self._database = database
        self._book = book
        self._policy = policy
        self._waiting: deque[Ticket] = deque()
        self._scopes: set[Scope] = set()
        self._lanes: set[asyncio.Task[None]] = set()

    async def transfer(
        self, order: TransferOrder, request: Repeatable | None, tell: Callable[[Receipt], str]
    ) -> Told:
        """As `posting.transfer` with its answer remembered; durable when this returns.

        Raises: what `posting.transfer` raises, KeyReused, KeyInProgress, Unavailable.
        """
        if len(self._waiting) >= WAITING_MAX:
            raise Unavailable("Too many transfers are waiting; try again shortly.", retry_after=1)
        scope = (request.caller, request.route, request.key) if request else None
        if scope in self._scopes:
            raise KeyInProgress
        ticket = Ticket(order, request, tell, asyncio.get_running_loop().create_future())
        if scope:
            self._scopes.add(scope)
            ticket.outcome.add_done_callback(lambda _: self._scopes.discard(scope))
        self._waiting.append(ticket)
        if len(self._lanes) < LANES:
            self._lanes.add(asyncio.create_task(self._work()))
        # A client that goes away does not undo a transfer that is already in a batch.
        return await asyncio.shield(ticket.outcome)

    async def preview(self, order: TransferOrder) -> Preview:
        """What `transfer` would do now; nothing is moved or reserved. Raises: as `posting.transfer`."""
        return await self._database.read(lambda tx: preview(tx, order, self._policy))

    async def _work(self) -> None:
        try:
            await self._commit_batches()
        finally:
            # In the step that found nothing waiting: whoever comes next sees a free lane.
            lane = asyncio.current_task()
            assert lane is not None
            self._lanes.discard(lane)

    async def _commit_batches(self) -> None:
        while self._waiting:
            tickets = [self._waiting.popleft() for _ in range(min(BATCH_MAX, len(self._waiting)))]
            transfers_waiting.set(len(self._waiting))
            batch_size.observe(len(tickets))
            try:
                outcomes = await self._database.act(
                    lambda tx, batch=tickets: post_batch(tx, batch, self._book, self._policy)  # type: ignore[misc]
                )
            except Unavailable as trouble:
                outcomes = [trouble] * len(tickets)
            except Exception:  # noqa: BLE001
                # Something in the batch cannot be written; alone, each transfer finds out for itself.
                outcomes = [await self._alone(ticket) for ticket in tickets]
            for ticket, outcome in zip(tickets, outcomes, strict=True):
                _tell(ticket, outcome)

    async def _alone(self, ticket: Ticket) -> Told | Exception:
        try:
            return await self._database.act(lambda tx: post_alone(tx, ticket, self._book, self._policy))
        except Exception as trouble:  # noqa: BLE001
            return trouble


def _tell(ticket: Ticket, outcome: Told | Exception) -> None:
    if isinstance(outcome, Exception):
        ticket.outcome.set_exception(outcome)
    else:
        ticket.outcome.set_result(outcome)


async def post_alone(tx: Tx, ticket: Ticket, book: Book, policy: rules.FeePolicy) -> Told:
    """One transfer in a transaction of its own: the plain way."""
    if ticket.request and (answer := await idempotency.recall(tx, ticket.request)) is not None:
        return Told(answer, replayed=True)
    answer = ticket.tell(await transfer(tx, ticket.order, book, policy))
    if ticket.request:
        await idempotency.remember(tx, ticket.request, answer)
    return Told(answer, replayed=False)


async def post_batch(
    tx: Tx, tickets: Sequence[Ticket], book: Book, policy: rules.FeePolicy
) -> list[Told | Exception]:
    """Decide and write the transfers in their order; one outcome for each ticket."""
    recalled = await _recalled(tx, tickets)
    outcomes = [known or _refused_at_sight(ticket) for known, ticket in zip(recalled, tickets, strict=True)]
    fresh = [ticket for ticket, outcome in zip(tickets, outcomes, strict=True) if outcome is None]
    written = iter(await _post_fresh(tx, fresh, book, policy) if fresh else [])
    return [next(written) if outcome is None else outcome for outcome in outcomes]


async def _recalled(tx: Tx, tickets: Sequence[Ticket]) -> list[Told | Exception | None]:
    requests = [ticket.request for ticket in tickets if ticket.request]
    found = iter(await idempotency.recall_many(tx, requests) if requests else [])
    recalled: list[Told | Exception | None] = []
    for ticket in tickets:
        known = next(found) if ticket.request else None
        recalled.append(Told(known, replayed=True) if isinstance(known, str) else known)
    return recalled


def _refused_at_sight(ticket: Ticket) -> Refused | None:
    # Before any lock: the registry's own accounts are only ever locked after the agents'.
    try:
        rules.require_ordinary_parties(ticket.order.payer, ticket.order.payee)
    except Refused as refusal:
        return refusal
    return None


async def _post_fresh(
    tx: Tx, tickets: Sequence[Ticket], book: Book, policy: rules.FeePolicy
) -> list[Told | Exception]:
    parties = {did for ticket in tickets for did in (ticket.order.payer, ticket.order.payee)}
    accounts = await store.lock_accounts(tx, list(parties))
    decisions = decide(tickets, accounts, policy)
    decided = [decision for decision in decisions if isinstance(decision, Decision)]
    told = iter(await _write(tx, decided, book) if decided else [])
    postings_total.labels("transfer").inc(len(decided))
    return [next(told) if isinstance(decision, Decision) else decision for decision in decisions]


def decide(
    tickets: Sequence[Ticket], accounts: dict[str, rules.Account], policy: rules.FeePolicy
) -> list[Decision | Exception]:
    """Walk through the transfers in order; `accounts` holds what they leave behind."""
    decisions: list[Decision | Exception] = []
    for ticket in tickets:
        order = ticket.order
        try:
            payer, payee = _known(accounts, order.payer), _known(accounts, order.payee)
            fee = rules.fee_of_covered(payer, payee, order.amount, policy)
        except Refused as refusal:
            decisions.append(refusal)
            continue
        accounts[order.payer] = payer = rules.after_sending(payer, order.amount, fee)
        accounts[order.payee] = payee = rules.after_receiving(payee, order.amount)
        decisions.append(Decision(ticket, fee, payer, payee))
    return decisions


def _known(accounts: dict[str, rules.Account], did: str) -> rules.Account:
    if did not in accounts:
        raise AccountUnknown(context={"did": did})
    return accounts[did]


async def _write(tx: Tx, decided: Sequence[Decision], book: Book) -> list[Told | Exception]:
    """Write a batch of covered transfers, their events and their answers."""
    fees = sum(one.fee for one in decided)
    ids = await store.collect_fees_and_take_ids(tx, book.fee_collector, fees, len(decided))
    changed = {party.did: party for one in decided for party in (one.payer, one.payee)}
    posted = _posted(decided, ids, book)
    await store.write_transfers(
        tx,
        list(changed.values()),
        [_row(one, entries, ids.collector_id) for one, entries in zip(decided, posted, strict=True)],
    )
    events = [
        event
        for one, entries in zip(decided, posted, strict=True)
        for event in transfer_events(entries, one.ticket.order, one.fee, book)
    ]
    await journal.append(tx, *events)
    told = [
        one.ticket.tell(Receipt(tx_id, one.ticket.order.amount, one.fee, one.payer.liquid, ids.now))
        for tx_id, one in zip(ids.tx_ids, decided, strict=True)
    ]
    answered = [(one.ticket.request, answer) for one, answer in zip(decided, told, strict=True)]
    await idempotency.remember_many(tx, [(request, answer) for request, answer in answered if request])
    return [Told(answer, replayed=False) for answer in told]


def _posted(decided: Sequence[Decision], ids: store.TakenIds, book: Book) -> list[store.Posted]:
    """The entries of each transfer, with the fee collector's balance running through the batch."""
    collected = ids.collector_balance - sum(one.fee for one in decided)
    posted = []
    for tx_id, one in zip(ids.tx_ids, decided, strict=True):
        order = one.ticket.order
        entries = [
            (order.payer, -(order.amount + one.fee), int(one.payer.liquid)),
            (order.payee, int(order.amount), int(one.payee.liquid)),
        ]
        if one.fee:
            collected += one.fee
            entries.append((book.fee_collector, int(one.fee), collected))
        posted.append(store.Posted(tx_id, ids.now, entries))
    return posted


def _row(one: Decision, posted: store.Posted, collector_id: int) -> store.BatchTransfer:
    order = one.ticket.order
    ids = (one.payer.id, one.payee.id, collector_id)
    return store.BatchTransfer(
        tx_id=posted.tx_id,
        payer_id=one.payer.id,
        payee_id=one.payee.id,
        amount=order.amount,
        fee=one.fee,
        message=order.message,
        postings=[
            (account_id, delta, after)
            for account_id, (_, delta, after) in zip(ids, posted.entries, strict=False)
        ],
    )
