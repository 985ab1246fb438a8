"""Sums of the payments of a day: to each payee, and to all of them.

A day has totals from its first use of a budget on. They are changed in the transaction that makes or ends an entry, so they agree
with the entries of the day, whichever process is killed when. Entries of a day without totals are added up once.
"""

import sqlite3
from datetime import UTC, datetime
from decimal import Decimal

DAY_SECONDS = 86_400
KEPT_DAYS = 2
ALL_PAYEES = ""

SCHEMA = """CREATE TABLE IF NOT EXISTS spent_of_day (
    day INTEGER NOT NULL, payee TEXT NOT NULL, amount TEXT NOT NULL, PRIMARY KEY (day, payee)) WITHOUT ROWID"""
_PAID_OR_HELD = """SELECT payee, amount FROM payment
    WHERE created_at >= ? AND created_at < ? AND progress NOT IN ('released', 'failed', 'expired')"""
_TOTAL = "SELECT amount FROM spent_of_day WHERE day = ? AND payee = ?"
_SET = "INSERT INTO spent_of_day VALUES (?, ?, ?) ON CONFLICT (day, payee) DO UPDATE SET amount = excluded.amount"


def spent_today(connection: sqlite3.Connection, payee: str) -> tuple[Decimal, Decimal]:
    """Return the amounts paid or held since midnight UTC: to all, and to this payee."""
    day = day_of(datetime.now(UTC).timestamp())
    if _total(connection, day, ALL_PAYEES) is None:
        _add_up(connection, day)
    return _total(connection, day, ALL_PAYEES) or Decimal(0), _total(connection, day, payee) or Decimal(0)


def add(connection: sqlite3.Connection, day: int, payee: str, amount: Decimal) -> None:
    """Count an amount that is held from now on, or, below zero, one that was given back; nothing on a day without totals."""
    if (of_all := _total(connection, day, ALL_PAYEES)) is None:
        return
    _set(connection, day, ALL_PAYEES, of_all + amount)
    _set(connection, day, payee, (_total(connection, day, payee) or Decimal(0)) + amount)


def day_of(timestamp: float) -> int:
    """The number of the day (UTC) of a timestamp in seconds since 1970."""
    return int(timestamp // DAY_SECONDS)


def _add_up(connection: sqlite3.Connection, day: int) -> None:
    connection.execute("DELETE FROM spent_of_day WHERE day < ?", (day - KEPT_DAYS,))
    totals = {ALL_PAYEES: Decimal(0)}
    bounds = (day * DAY_SECONDS, (day + 1) * DAY_SECONDS)
    for payee, amount in connection.execute(_PAID_OR_HELD, bounds).fetchall():
        for one in (ALL_PAYEES, payee):
            totals[one] = totals.get(one, Decimal(0)) + Decimal(amount)
    for payee, amount in totals.items():
        _set(connection, day, payee, amount)


def _total(connection: sqlite3.Connection, day: int, payee: str) -> Decimal | None:
    found = connection.execute(_TOTAL, (day, payee)).fetchone()
    return None if found is None else Decimal(found[0])


def _set(connection: sqlite3.Connection, day: int, payee: str, amount: Decimal) -> None:
    connection.execute(_SET, (day, payee, str(amount)))
