"""Conditions after a run of paid calls, by the files of its processes, the database of the registry and further requests."""

import asyncio
import random
import sqlite3
import time
from collections import Counter
from contextlib import AsyncExitStack
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import asyncpg
import httpx2

from hansa_client import AsyncRegistry
from hansa_client.pay import AsyncPendingPayments, Journal
from hansa_client.pay.options import fingerprint_of
from tests.client.paid_market import registry_of
from tests.client.paid_processes import PRICE, capture_of, payer_of

FETCHED_AT_ONCE = 16
MINOR_DIGITS = 8
# Within this time the registry decides what is settling and marks what has expired, and the client reaches it again.
OVERDUE_SECONDS = 120
HELD_AND_PAID = """
    SELECT a.did, a.liquid + a.escrow AS held,
        (SELECT sum(t.amount + t.fee) FROM commerce_payment_token t WHERE t.caller = a.did AND t.status = 'settled') AS paid
    FROM ledger_account a WHERE a.did = ANY($1)"""


@dataclass(frozen=True)
class Paid:
    """A settled payment of the journal, with the body of its call."""

    payment_id: str
    token_id: str
    body: str


async def require_each_call_paid_once(stated: dict[str, Any], dsn: str, fetched_again: int) -> int:
    """Judge the run; of so many payments the answer is fetched again. Returns how many calls were paid."""
    assert _executed_twice(stated) == []
    outcomes = _outcomes(stated)
    assert outcomes.keys() == set(map(str, range(stated["calls"])))
    async with AsyncExitStack() as opened:
        payers = [await opened.enter_async_context(registry_of(stated, payer)) for payer in stated["payers"]]
        payments = await _settled(stated, payers)
        assert max(Counter(payment.body for payment in payments).values()) == 1
        assert {payment.body for payment in payments} == {
            body for body, outcome in outcomes.items() if outcome == "200"
        }
        assert {payment.token_id for payment in payments} <= _tokens_answered(stated["store"])
        chosen = random.sample(payments, min(len(payments), fetched_again))
        await _require_fetchable(stated, payers, chosen)
    await _require_books(stated, dsn, payments)
    return len(payments)


async def require_none_pending(pending: AsyncPendingPayments) -> None:
    """Wait until each payment has ended, which it has soon after its token's time is over."""
    while entries := await pending.list():
        overdue = [entry for entry in entries if entry.expires_at + OVERDUE_SECONDS < time.time()]
        assert overdue == []


def _executed_twice(stated: dict[str, Any]) -> list[str]:
    """Executions that have the body and the token of another one. A call whose first payment was returned has a second token."""
    executed = Counter(Path(stated["executions"]).read_text().splitlines())
    return [execution for execution, times in executed.items() if times > 1]


def _outcomes(stated: dict[str, Any]) -> dict[str, str]:
    return dict(line.split(" ") for line in Path(stated["done"]).read_text().splitlines())


async def _settled(stated: dict[str, Any], payers: list[AsyncRegistry]) -> list[Paid]:
    """The settled payments, once those that were interrupted have ended."""
    journal = Journal(stated["journal"])
    for payer in payers:
        await require_none_pending(AsyncPendingPayments(payer, journal))
    journal.close()
    rows = _rows(
        stated["journal"],
        "SELECT payment_id, token_id, fingerprint, url FROM payment WHERE progress = 'settled' ORDER BY payment_id",
    )
    bodies = {
        fingerprint_of(httpx2.Request("POST", url, content=str(number).encode())): str(number)
        for url in {row[3] for row in rows}
        for number in range(stated["calls"])
    }
    return [Paid(payment_id, token_id, bodies[fingerprint]) for payment_id, token_id, fingerprint, _ in rows]


def _tokens_answered(store: str) -> set[str]:
    """The tokens whose answer the services hold."""
    answered = "SELECT json_extract(facts, '$.token_id') FROM hansa_paid_call WHERE state = 'answered'"
    return {token_id for (token_id,) in _rows(store, answered)}


def _rows(file: str, statement: str) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(file)
    rows = connection.execute(statement).fetchall()
    connection.close()
    return rows


async def _require_fetchable(
    stated: dict[str, Any], payers: list[AsyncRegistry], payments: list[Paid]
) -> None:
    """The token of each payment is returned again under its key, and the answer under its token."""
    left = list(payments)
    async with httpx2.AsyncClient(timeout=60) as http, asyncio.TaskGroup() as group:

        async def fetch() -> None:
            while left:
                payment = left.pop()
                capture_by = capture_of(payment.body)
                token = await payers[payer_of(payment.body)].payments.authorize(
                    stated["payee"]["did"],
                    PRICE,
                    ttl_seconds=900,
                    capture_by=None if capture_by == "caller" else capture_by,
                    key=payment.payment_id,
                )
                answer = await http.post(
                    f"http://127.0.0.1:{random.choice(stated['ports'])}/work",
                    content=payment.body.encode(),
                    headers={"X-Payment-Token": token.token, "X-Payment-Issuer": token.issuer},
                )
                assert (answer.status_code, answer.text) == (200, f"answer to {payment.body}"), answer.text

        for _ in range(FETCHED_AT_ONCE):
            group.create_task(fetch())


async def _require_books(stated: dict[str, Any], dsn: str, payments: list[Paid]) -> None:
    """The settled tokens of the registry are those of the payments; the payers have paid for them, with their fees, and for nothing
    else; the payee has received their price; and the sums of the registry add up.
    """
    connection = await asyncpg.connect(dsn)
    settled = await connection.fetch("SELECT id FROM commerce_payment_token WHERE status = 'settled'")
    accounts = await connection.fetch(HELD_AND_PAID, [payer["did"] for payer in stated["payers"]])
    await connection.close()
    assert sorted(str(token["id"]) for token in settled) == sorted(payment.token_id for payment in payments)
    assert {account["did"]: account["held"] + account["paid"] for account in accounts} == {
        payer["did"]: Decimal(payer["balance"]).scaleb(MINOR_DIGITS) for payer in stated["payers"]
    }
    async with registry_of(stated, stated["payee"]) as payee:
        balance = (await payee.transfers.balance()).balance
    assert balance - Decimal(stated["payee"]["balance"]) == len(payments) * Decimal(PRICE)
    async with httpx2.AsyncClient(base_url=stated["registry"], timeout=60) as http:
        supply = (await http.get("/api/v1/public/supply-invariant")).json()
    assert float(supply["delta"]) == 0, supply
