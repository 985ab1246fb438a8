"""Every payment that this user's programs make, in one local SQLite file; any number of processes share it.

- An entry is written before anything is asked of a registry. It holds the Idempotency-Key (its id) under which the
  registry returns the same token again, and never the token itself.
- Everything that is written survives the end of the process. That a token is sent is on the disk before it is sent, with all that
  was written before; a loss of power may take only an entry whose token was not sent, and how an entry ended, which the registry
  states.
- The used part of the budget is the sum of the entries of the day (`spending.py`): reserved when an entry is made, given back when nothing was paid. Both
  happen in the transaction that makes or ends the entry.
- An entry belongs to the process that made it while that process runs. An interrupted one is continued by the next
  call that is the same.
"""

import sqlite3
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, fields, replace
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

from hansa_client.sqlite_writer import SqliteWriter

from . import spending
from .budget import Budget
from .errors import PaymentInProgress
from .owner import is_running, this_process

T = TypeVar("T")

KEPT_SECONDS = 400 * 86_400.0


class Progress(StrEnum):
    """How far a payment has come."""

    PLANNED = "planned"
    """A token may have been authorized."""
    SENT = "sent"
    """The token may have reached the service."""
    DELIVERED = "delivered"
    """Answered; the caller has to settle."""
    UNDELIVERED = "undelivered"
    """Not answered, or refused; the caller has to free the token."""
    SETTLED = "settled"
    RELEASED = "released"
    FAILED = "failed"
    EXPIRED = "expired"


GIVEN_BACK = (Progress.RELEASED, Progress.FAILED, Progress.EXPIRED)
"""Nothing was paid."""
OPEN = (Progress.PLANNED, Progress.SENT, Progress.DELIVERED, Progress.UNDELIVERED)


@dataclass(frozen=True)
class Intent:
    """A call that is to be paid."""

    fingerprint: str
    """The same for the same call: method, address, body."""
    call_id: str | None
    """The caller's own name for the call; one that was paid is not paid again."""
    method: str
    url: str
    payee: str
    registry: str
    payer: str
    """The client id of the agent, or the address of the wallet, that pays; another one never continues its payment."""
    amount: Decimal
    currency: str | None
    capture_by: str
    ttl_seconds: int
    authorization: str | None = None
    """What a wallet signs, of a payment by a wallet."""


@dataclass(frozen=True)
class Entry:
    """One payment."""

    payment_id: str
    """Also the Idempotency-Key of its authorization."""
    fingerprint: str
    call_id: str | None
    progress: Progress
    method: str
    url: str
    payee: str
    registry: str
    payer: str
    amount: Decimal
    currency: str | None
    capture_by: str
    ttl_seconds: int
    token_id: str | None
    owner: str | None
    created_at: float
    ended_at: float | None
    detail: str | None

    @property
    def is_open(self) -> bool:
        """Return whether it is not yet decided if it is paid."""
        return self.progress in OPEN

    @property
    def expires_at(self) -> float:
        """When its token has expired at the latest; from then on no other may be made for it."""
        return self.created_at + self.ttl_seconds

    @property
    def is_interrupted(self) -> bool:
        """Return whether no running process works on it."""
        return self.is_open and (self.owner is None or not is_running(self.owner))


@dataclass(frozen=True)
class Begun:
    """An entry to work on; `is_continued` when an earlier attempt may have authorized or sent its token."""

    entry: Entry
    is_continued: bool
    authorization: str | None = None
    """What the wallet signs, of a payment by a wallet: in each attempt the same."""


_COLUMNS = tuple(field.name for field in fields(Entry))
# An entry is open until it has ended.
_SCHEMA = (
    """CREATE TABLE IF NOT EXISTS payment (
        payment_id TEXT PRIMARY KEY, fingerprint TEXT NOT NULL, call_id TEXT,
        progress TEXT NOT NULL CHECK (progress IN ('planned', 'sent', 'delivered', 'undelivered',
            'settled', 'released', 'failed', 'expired')),
        method TEXT NOT NULL, url TEXT NOT NULL, payee TEXT NOT NULL, registry TEXT NOT NULL, payer TEXT NOT NULL,
        amount TEXT NOT NULL, currency TEXT, capture_by TEXT NOT NULL, ttl_seconds INTEGER NOT NULL, token_id TEXT, owner TEXT,
        created_at REAL NOT NULL, ended_at REAL, detail TEXT,
        CHECK ((progress IN ('settled', 'released', 'failed', 'expired')) = (ended_at IS NOT NULL)))""",
    "CREATE INDEX IF NOT EXISTS payment_open ON payment (fingerprint) WHERE ended_at IS NULL",
    """CREATE TABLE IF NOT EXISTS delivery_receipt (
        payment_id TEXT PRIMARY KEY, receipt TEXT NOT NULL)""",
    """CREATE TABLE IF NOT EXISTS wallet_authorization (
        payment_id TEXT PRIMARY KEY, authorization TEXT NOT NULL)""",
    "CREATE INDEX IF NOT EXISTS payment_of_day ON payment (created_at)",
    # One payment for a name of the caller's: a second is possible only after nothing was paid by the first.
    """CREATE UNIQUE INDEX IF NOT EXISTS payment_of_call ON payment (call_id)
        WHERE call_id IS NOT NULL AND progress NOT IN ('released', 'failed', 'expired')""",
    spending.SCHEMA,
)
_SELECT = """SELECT payment_id, fingerprint, call_id, progress, method, url, payee, registry, payer, amount, currency,
    capture_by, ttl_seconds, token_id, owner, created_at, ended_at, detail FROM payment"""
_INSERT = "INSERT INTO payment VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_INTERRUPT = "UPDATE payment SET owner = NULL, detail = ? WHERE payment_id = ? AND ended_at IS NULL"
_NOTE = "UPDATE payment SET detail = ? WHERE payment_id = ? AND ended_at IS NULL"
_MOVE = """UPDATE payment SET progress = ?, token_id = coalesce(?, token_id), detail = ?, ended_at = ?
    WHERE payment_id = ? AND ended_at IS NULL"""
_KEEP_RECEIPT = """INSERT INTO delivery_receipt VALUES (?, ?)
    ON CONFLICT (payment_id) DO UPDATE SET receipt = excluded.receipt"""
_RECEIPT = "SELECT receipt FROM delivery_receipt WHERE payment_id = ?"
_FORGET = (
    "DELETE FROM delivery_receipt WHERE payment_id NOT IN (SELECT payment_id FROM payment)",
    "DELETE FROM wallet_authorization WHERE payment_id NOT IN (SELECT payment_id FROM payment)",
)
_AUTHORIZATION = "SELECT authorization FROM wallet_authorization WHERE payment_id = ?"
_COUNTED = "SELECT payee, amount, created_at FROM payment WHERE payment_id = ? AND ended_at IS NULL"


def default_path() -> Path:
    """The journal of this user."""
    return Path.home() / ".local" / "share" / "hansa" / "payments.db"


class Journal:
    """The entries of one file. Every method returns a future whose result is in the file."""

    def __init__(self, path: Path | str | None = None) -> None:
        self._writer = SqliteWriter(Path(path) if path else default_path(), _prepare)

    def close(self) -> None:
        """Close the file."""
        self._writer.close()

    def begin(self, intent: Intent, budget: Budget) -> "Future[Begun]":
        """Continue the interrupted payment of the same call, or make an entry within the budget.

        The future raises BudgetExceeded or PaymentInProgress; then nothing was written.
        """
        return self._run(lambda connection: _begin(connection, intent, budget))

    def move(
        self,
        payment_id: str,
        progress: Progress,
        *,
        token_id: str | None = None,
        detail: str | None = None,
        receipt: str | None = None,
    ) -> "Future[None]":
        """Record progress; an entry that has ended stays as it is. A delivery receipt is kept as long as its entry.

        `SENT` is on the disk: of a payment that the service may know no loss of power takes the entry.
        """

        def use(connection: sqlite3.Connection) -> None:
            _move(connection, payment_id, progress, token_id, detail)
            if receipt is not None:
                connection.execute(_KEEP_RECEIPT, (payment_id, receipt))

        return self._run(use, is_durable=progress is Progress.SENT)

    def interrupt(self, payment_id: str, detail: str) -> "Future[None]":
        """Leave an entry to the next call that is the same."""

        def use(connection: sqlite3.Connection) -> None:
            connection.execute(_INTERRUPT, (detail, payment_id))

        return self._run(use)

    def note(self, payment_id: str, detail: str) -> "Future[None]":
        """Record why an entry is still open."""

        def use(connection: sqlite3.Connection) -> None:
            connection.execute(_NOTE, (detail, payment_id))

        return self._run(use)

    def entries(self, *, limit: int = 200) -> "Future[list[Entry]]":
        """Newest first."""

        def use(connection: sqlite3.Connection) -> list[Entry]:
            return _entries(connection, f"{_SELECT} ORDER BY created_at DESC LIMIT ?", (limit,))

        return self._run(use)

    def open_entries(self) -> "Future[list[Entry]]":
        """All that have not ended, of every registry and payer, newest first."""

        def use(connection: sqlite3.Connection) -> list[Entry]:
            return _entries(connection, f"{_SELECT} WHERE ended_at IS NULL ORDER BY created_at DESC", ())

        return self._run(use)

    def entries_of_this_process(self) -> "Future[list[Entry]]":
        """Return the entries that this process made or continued, newest first."""

        def use(connection: sqlite3.Connection) -> list[Entry]:
            return _entries(
                connection, f"{_SELECT} WHERE owner = ? ORDER BY created_at DESC", (this_process(),)
            )

        return self._run(use)

    def entry(self, payment_or_token_id: str) -> "Future[Entry | None]":
        """The entry of this id, or of the token with this id."""

        def use(connection: sqlite3.Connection) -> Entry | None:
            either = (payment_or_token_id, payment_or_token_id)
            found = _entries(connection, f"{_SELECT} WHERE payment_id = ? OR token_id = ?", either)
            return found[0] if found else None

        return self._run(use)

    def receipt(self, payment_id: str) -> "Future[str | None]":
        """The delivery receipt of a payment."""

        def use(connection: sqlite3.Connection) -> str | None:
            found = connection.execute(_RECEIPT, (payment_id,)).fetchone()
            return None if found is None else str(found[0])

        return self._run(use)

    def authorization(self, payment_id: str) -> "Future[str | None]":
        """Return the authorization that a wallet signed or was to sign for a payment, or None for another payment."""
        return self._run(lambda connection: _authorization(connection, payment_id))

    def _run(self, use: Callable[[sqlite3.Connection], T], *, is_durable: bool = False) -> "Future[T]":
        self._writer.open()
        return self._writer.submit(use, is_durable=is_durable)


def _prepare(connection: sqlite3.Connection) -> None:
    """Create missing tables, and forget the payments of former years."""
    connection.execute("BEGIN IMMEDIATE")
    for statement in _SCHEMA:
        connection.execute(statement)
    connection.execute("DELETE FROM payment WHERE created_at < ?", (time.time() - KEPT_SECONDS,))
    for statement in _FORGET:
        connection.execute(statement)
    connection.execute("COMMIT")


def _begin(connection: sqlite3.Connection, intent: Intent, budget: Budget) -> Begun:
    if found := _earlier(connection, intent):
        connection.execute(
            "UPDATE payment SET owner = ? WHERE payment_id = ?", (this_process(), found.payment_id)
        )
        kept = _authorization(connection, found.payment_id)
        return Begun(replace(found, owner=this_process()), is_continued=True, authorization=kept)
    if budget.is_of_a_day:
        budget.require_day(intent.amount, *spending.spent_today(connection, intent.payee))
    entry = Entry(
        payment_id=uuid4().hex,
        fingerprint=intent.fingerprint,
        call_id=intent.call_id,
        progress=Progress.PLANNED,
        method=intent.method,
        url=intent.url,
        payee=intent.payee,
        registry=intent.registry,
        payer=intent.payer,
        amount=intent.amount,
        currency=intent.currency,
        capture_by=intent.capture_by,
        ttl_seconds=intent.ttl_seconds,
        token_id=None,
        owner=this_process(),
        created_at=time.time(),
        ended_at=None,
        detail=None,
    )
    connection.execute(_INSERT, _row(entry))
    spending.add(connection, spending.day_of(entry.created_at), entry.payee, entry.amount)
    if intent.authorization is not None:
        values = (entry.payment_id, intent.authorization)
        connection.execute("INSERT INTO wallet_authorization VALUES (?, ?)", values)
    return Begun(entry, is_continued=False, authorization=intent.authorization)


def _authorization(connection: sqlite3.Connection, payment_id: str) -> str | None:
    found = connection.execute(_AUTHORIZATION, (payment_id,)).fetchone()
    return None if found is None else str(found[0])


def _earlier(connection: sqlite3.Connection, intent: Intent) -> Entry | None:
    """The payment to continue: that of the same name, else an interrupted one of the same call without a name.

    Raises: PaymentInProgress, ValueError where the name was used for another call.
    """
    if intent.call_id is not None:
        statement = f"{_SELECT} WHERE call_id = ? AND progress NOT IN ('released', 'failed', 'expired')"
        for entry in _entries(connection, statement, (intent.call_id,)):
            if entry.fingerprint != intent.fingerprint or not _is_between_same(entry, intent):
                raise ValueError(f"the call_id {intent.call_id!r} was used for another call")
            if entry.is_open and not entry.is_interrupted:
                raise PaymentInProgress(f"The call {intent.call_id!r} is being paid by another request.")
            return entry
        return None
    statement = (
        f"{_SELECT} WHERE fingerprint = ? AND call_id IS NULL AND ended_at IS NULL ORDER BY created_at"
    )
    same = _entries(connection, statement, (intent.fingerprint,))
    now = time.time()
    return next(
        (
            entry
            for entry in same
            if entry.is_interrupted and _is_between_same(entry, intent) and entry.expires_at > now
        ),
        None,
    )


def _is_between_same(entry: Entry, intent: Intent) -> bool:
    """Return whether both are payments of one agent of one registry to one payee."""
    return (entry.registry, entry.payer, entry.payee) == (intent.registry, intent.payer, intent.payee)


def _move(
    connection: sqlite3.Connection,
    payment_id: str,
    progress: Progress,
    token_id: str | None,
    detail: str | None,
) -> None:
    ended_at = None if progress in OPEN else time.time()
    if progress in GIVEN_BACK:
        for payee, amount, created_at in connection.execute(_COUNTED, (payment_id,)).fetchall():
            spending.add(connection, spending.day_of(created_at), payee, -Decimal(amount))
    connection.execute(_MOVE, (progress.value, token_id, detail, ended_at, payment_id))


def _entries(connection: sqlite3.Connection, statement: str, values: Sequence[Any]) -> list[Entry]:
    return [_entry_of(row) for row in connection.execute(statement, values).fetchall()]


def _entry_of(row: Sequence[Any]) -> Entry:
    values = dict(zip(_COLUMNS, row, strict=True))
    return Entry(**{**values, "progress": Progress(values["progress"]), "amount": Decimal(values["amount"])})


def _row(entry: Entry) -> list[Any]:
    return [
        str(value) if isinstance(value, Decimal) else value
        for value in (getattr(entry, name) for name in _COLUMNS)
    ]
