"""The totals of a day, on which budgets are judged, equal the sums of the journal's entries."""

import asyncio
import os
import random
import signal
import sqlite3
import sys
import time
from decimal import Decimal
from pathlib import Path

import pytest

from hansa_client.pay import spending
from hansa_client.pay.budget import Budget
from hansa_client.pay.errors import BudgetExceeded
from hansa_client.pay.journal import GIVEN_BACK, Intent, Journal, Progress
from tests.operation.registry_process import until
from tests.properties.scale import by_tier, printed_seed

PAYEES = ("did:hansa:a", "did:hansa:b", "did:hansa:c")
MUCH = Budget.of(per_call="1000", per_day="1000000")
STEPS = by_tier(120, 2_000, 20_000)
ENDS = (Progress.SETTLED, *GIVEN_BACK)
HELD = "SELECT payee, amount FROM payment WHERE created_at >= ? AND progress NOT IN ('released', 'failed', 'expired')"


def intent(payee: str = PAYEES[0], amount: str = "0.1", call_id: str | None = None) -> Intent:
    return Intent(
        fingerprint=call_id or amount,
        call_id=call_id,
        method="POST",
        url="https://service.example/work",
        payee=payee,
        registry="https://registry.example",
        payer="agent",
        amount=Decimal(amount),
        currency=None,
        capture_by="payer",
        ttl_seconds=600,
    )


def pay_until_killed(path: str) -> None:
    """Make entries and end each as it comes, until the process is killed or its parent has ended."""
    journal, chance, parent = Journal(path), random.Random(), os.getppid()
    while os.getppid() == parent:
        begun = journal.begin(intent(chance.choice(PAYEES), f"0.0{chance.randrange(1, 10)}"), MUCH).result()
        journal.move(begun.entry.payment_id, chance.choice(ENDS)).result()


PAYING = f"""
import sys
from {pay_until_killed.__module__} import {pay_until_killed.__name__}
{pay_until_killed.__name__}(sys.argv[1])
"""


def require_exact_totals(path: Path) -> int:
    """Require that the totals are the sums of the paid and held amounts, and return the number of entries."""
    with sqlite3.connect(path, timeout=60) as connection:
        # Others may be writing.
        connection.execute("BEGIN IMMEDIATE")
        midnight = spending.day_of(time.time()) * spending.DAY_SECONDS
        held = [(payee, Decimal(amount)) for payee, amount in connection.execute(HELD, (midnight,))]
        for payee in PAYEES:
            assert spending.spent_today(connection, payee) == (
                sum(amount for _, amount in held),
                sum(amount for of, amount in held if of == payee),
            )
        return int(connection.execute("SELECT count(*) FROM payment").fetchone()[0])


def test_the_totals_of_a_day_are_exact_whatever_becomes_of_its_payments(tmp_path: Path):
    chance, path = random.Random(printed_seed()), tmp_path / "payments.db"
    journals, begun = [Journal(path), Journal(path)], list[str]()
    for number in range(STEPS):
        journal = chance.choice(journals)
        if not begun or chance.random() < 0.5:
            one = intent(chance.choice(PAYEES), f"{chance.randrange(1, 999) / 1000}", f"call {number}")
            # Some belong to days on which no budget is used yet.
            budget = MUCH if number > STEPS // 4 else Budget.of(per_call="1000")
            begun.append(journal.begin(one, budget).result().entry.payment_id)
        else:
            # Also one that has ended already, which stays as it is.
            journal.move(chance.choice(begun), chance.choice([*Progress])).result()
        if number % 10 == 0:
            require_exact_totals(path)
    require_exact_totals(path)
    for journal in journals:
        journal.close()


async def test_the_totals_of_a_day_are_exact_after_processes_were_killed(tmp_path: Path):
    path = tmp_path / "payments.db"
    paying = [await asyncio.create_subprocess_exec(sys.executable, "-c", PAYING, str(path)) for _ in range(2)]
    for process in paying:
        made = require_exact_totals(path) if path.exists() and path.stat().st_size else 0
        await until(lambda enough=made + 20: path.exists() and count(path) > enough)
        process.send_signal(signal.SIGKILL)
        await process.wait()
    assert require_exact_totals(path) > 40


def count(path: Path) -> int:
    try:
        with sqlite3.connect(path) as connection:
            return int(connection.execute("SELECT count(*) FROM payment").fetchone()[0])
    except sqlite3.OperationalError:
        return 0


def test_a_budget_of_a_day_is_judged_without_reading_the_payments_of_the_day(tmp_path: Path):
    path, journal, steps = tmp_path / "payments.db", Journal(tmp_path / "payments.db"), []
    for _ in range(2):
        for number in range(100):
            journal.begin(intent(call_id=f"call {len(steps)} {number}"), MUCH).result()
        taken = 0

        def step() -> None:
            nonlocal taken
            taken += 1

        with sqlite3.connect(path) as connection:
            connection.set_progress_handler(step, 1)
            spending.spent_today(connection, PAYEES[0])
        steps.append(taken)
    assert steps[1] == steps[0]
    journal.close()


def test_what_was_given_back_can_be_spent_again(tmp_path: Path):
    journal, small = Journal(tmp_path / "payments.db"), Budget.of(per_call="1", per_day="0.15")
    first = journal.begin(intent(call_id="first"), small).result().entry.payment_id
    with pytest.raises(BudgetExceeded, match=r"0\.05 of today's budget is left"):
        journal.begin(intent(call_id="second"), small).result()
    journal.move(first, Progress.RELEASED).result()
    journal.move(first, Progress.FAILED).result()
    journal.begin(intent(call_id="second"), small).result()
    with pytest.raises(BudgetExceeded, match=r"0\.05 of today's budget is left"):
        journal.begin(intent(call_id="third"), small).result()
    journal.close()


def test_a_new_journal_can_be_used_after_its_first_payment_was_refused(tmp_path: Path):
    journal = Journal(tmp_path / "payments.db")
    with pytest.raises(BudgetExceeded):
        journal.begin(intent(amount="3"), Budget.of(per_day="2")).result(60)
    assert journal.begin(intent(amount="2"), Budget.of(per_day="2")).result(60).entry.amount == 2
    journal.close()


def test_that_a_token_is_sent_is_on_the_disk_before_it_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    seen: list[tuple[str, int]] = []

    class Connection(sqlite3.Connection):
        def execute(self, statement: str, *values: object) -> sqlite3.Cursor:
            if statement.startswith("UPDATE payment SET progress"):
                level = super().execute("PRAGMA synchronous").fetchone()[0]
                seen.append((str(values[0][0]), level))  # type: ignore[index]
            return super().execute(statement, *values)

    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *args, **more: connect(*args, factory=Connection, **more))
    journal = Journal(tmp_path / "payments.db")
    begun = journal.begin(intent(), MUCH).result(60)
    for progress in (Progress.SENT, Progress.DELIVERED, Progress.SETTLED):
        journal.move(begun.entry.payment_id, progress).result(60)
    journal.close()
    on_disk, in_file = 2, 1
    assert seen == [("sent", on_disk), ("delivered", in_file), ("settled", in_file)]
