"""Clients that transfer, repeat themselves and read, all at once, on several desks of one database."""

import asyncio
import itertools
from collections.abc import Sequence
from random import Random
from typing import Any, Protocol

from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.foundation.plumbing.web import idempotency
from hansa.foundation.plumbing.web.idempotency import KeyInProgress, Repeatable
from hansa.foundation.values.errors import Refused, Unavailable
from hansa.foundation.values.money import Minor
from hansa.rooms import ledger
from hansa.rooms.ledger.batch import Ticket, answer_of, post_batch
from hansa.rooms.ledger.statement import store as statement
from hansa.rooms.ledger.statement.records import Line, StatementFilter
from tests.faults.list_append import Entry, History, Reading, Transfer

ROUTE = "/teg/transfer"
CLIENTS = 64
LINES_READ = 20
WANTED = StatementFilter(limit=LINES_READ, tx_type="transfer")
SHARE_OF_READINGS = 0.15
SHARE_OF_REPETITIONS = 0.05
SHARE_OF_REFUSALS = 0.03
LAST_DESK_WEIGHT = 0.05
HOLDING = Minor(10**15)
TOO_MUCH = Minor(10**17)

Answer = tuple[int, int]


class Desk(Protocol):
    """Entry for transfers: (transaction id, the payer's balance after it), or a refusal."""

    database: Database

    async def transfer(self, order: ledger.TransferOrder, key: str) -> Answer: ...


class GatheringDesk:
    """One serving process: its transfers gather in a group commit."""

    def __init__(self, runtime: Runtime) -> None:
        self.database = runtime.database
        self._group = ledger.GroupCommit(runtime.database, ledger.Book.of(runtime.settings))

    async def transfer(self, order: ledger.TransferOrder, key: str) -> Answer:
        return _read(await self._group.transfer(order, request_of(order, key), _rendered))


class PlainDesk:
    """One serving process: each transfer in a transaction of its own, as when a batch could not be written."""

    def __init__(self, runtime: Runtime) -> None:
        self.database = runtime.database
        self._book = ledger.Book.of(runtime.settings)

    async def transfer(self, order: ledger.TransferOrder, key: str) -> Answer:
        ticket = Ticket.of_transfer(order, request_of(order, key), _rendered)
        (rows,) = await self.database.transaction(lambda tx: post_batch(tx, [ticket], self._book))
        return _read(answer_of(ticket, rows))


def request_of(order: ledger.TransferOrder, key: str) -> Repeatable:
    """The transfer under its key."""
    return Repeatable(order.payer, ROUTE, key, {"to": order.payee, "amount": order.amount})


def _rendered(receipt: ledger.Receipt) -> str:
    return f"{receipt.tx_id} {receipt.payer_balance_after}"


def _read(answered: idempotency.Answer) -> Answer:
    tx_id, balance = answered.text.split()
    return int(tx_id), int(balance)


class Traffic:
    """`count` transfers of many clients between few accounts, and their outcomes."""

    def __init__(self, desks: Sequence[Desk], accounts: Sequence[str], seed: int) -> None:
        self.history = History()
        self._desks = desks
        self._accounts = accounts
        self._random = Random(seed)
        self._moments = itertools.count()

    async def run(self, count: int) -> History:
        numbers = iter(range(count))
        async with asyncio.TaskGroup() as clients:
            for _ in range(CLIENTS):
                clients.create_task(self._client(numbers))
        return self.history

    async def _client(self, numbers: Any) -> None:
        for number in numbers:
            if self._random.random() < SHARE_OF_READINGS:
                await self._read()
            await self._transfer(f"transfer-{number}")

    async def _transfer(self, key: str) -> None:
        payer, payee = self._random.sample(self._accounts, 2)
        is_hopeless = self._random.random() < SHARE_OF_REFUSALS
        # From a fee of nothing to one that counts.
        amount = TOO_MUCH if is_hopeless else Minor(self._random.choice([1, 99, 100, 12_345, 10**9]))
        order = ledger.TransferOrder(payer, payee, amount, message=key)
        transfer = self.history.transfers[key] = Transfer(key, payer, payee, asked=next(self._moments))
        times = 2 if self._random.random() < SHARE_OF_REPETITIONS else 1
        answers = await asyncio.gather(*(self._insist(desk, order, key) for desk in self._some_desks(times)))
        transfer.answers = frozenset(answer for answer in answers if answer)
        transfer.is_refused = None in answers
        transfer.answered_at = next(self._moments)

    def _some_desks(self, times: int) -> list[Desk]:
        """The last desk gets few transfers: a plain one would hold up the others."""
        weights = [*[1.0] * (len(self._desks) - 1), LAST_DESK_WEIGHT]
        return self._random.choices(self._desks, weights, k=times)

    async def _insist(self, desk: Desk, order: ledger.TransferOrder, key: str) -> Answer | None:
        """Ask until it is decided; None when it is refused."""
        while True:
            try:
                return await desk.transfer(order, key)
            except (KeyInProgress, Unavailable):
                await asyncio.sleep(0.001)
            except Refused:
                return None

    async def _read(self) -> None:
        account, desk = self._random.choice(self._accounts), self._random.choice(self._desks)
        asked = next(self._moments)
        lines = await desk.database.read(lambda tx: statement.lines(tx, account, WANTED))
        entries = tuple(_entry(line) for line in reversed(lines))
        is_whole = len(entries) < LINES_READ
        self.history.readings.append(Reading(account, asked, next(self._moments), entries, is_whole))


def _entry(line: Line) -> Entry:
    delta = line.amount if line.direction == "received" else -(line.amount + line.fee)
    return Entry(line.tx_id, line.message or "", delta, line.balance_after)


async def open_funded(runtime: Runtime, accounts: Sequence[str]) -> None:
    """Open the accounts and give each its holding."""
    book = ledger.Book.of(runtime.settings)

    async def opened(tx: Tx) -> None:
        for did in accounts:
            await ledger.open_account(tx, did)
            assert await ledger.grant(tx, payee=did, amount=HOLDING, ref="start", book=book)

    await runtime.database.transaction(opened)


async def read_lists(database: Database) -> dict[str, list[Entry]]:
    """The list of each account, straight from the tables."""
    rows = await database.query(
        lambda tx: tx.fetch(
            "SELECT a.did, p.tx_id, t.message, p.delta, p.balance_after FROM ledger_posting p"
            " JOIN ledger_account a ON a.id = p.account_id JOIN ledger_transaction t ON t.id = p.tx_id"
            " WHERE t.tx_type = 'transfer' ORDER BY a.id, p.tx_id"
        )
    )
    lists: dict[str, list[Entry]] = {}
    for row in rows:
        entry = Entry(row["tx_id"], row["message"], row["delta"], row["balance_after"])
        lists.setdefault(row["did"], []).append(entry)
    return lists
