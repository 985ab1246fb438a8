"""Payments whose end the payer did not learn, and whose time is over: each ends as its token did, or states why it cannot."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2
import pytest

from hansa_client import AgentCredentials, AsyncRegistry, Registry, RetryPolicy
from hansa_client.pay import (
    AsyncPendingPayments,
    Budget,
    Entry,
    Journal,
    PaymentUnresolved,
    PendingPayments,
    Progress,
)
from hansa_client.pay.journal import Intent
from tests.client.both import Client
from tests.client.conftest import Open
from tests.client.faults import Faults
from tests.paying import Payments
from tests.registry import TestAgent, TestRegistry

MY_TOKENS, SETTLE = "/api/v1/a2a-payment/my-tokens", "/api/v1/a2a-payment/settle"
PAYEE = "did:hansa:hansa.local:payee"
LISTED_MAX = 200
AGENT = AgentCredentials("agent-1", "s")
NEWER = """
INSERT INTO commerce_payment_token (id, token_sha256, caller, payee, amount, status, settling_at, tx_id, fee, counts, reason,
  created_at, expires_at, ended_at)
SELECT gen_random_uuid(), sha256(convert_to(gen_random_uuid()::text, 'UTF8')), $1, $2, 1, $3,
  CASE WHEN $3 = 'settled' THEN now() END, CASE WHEN $3 = 'settled' THEN -number END, CASE WHEN $3 = 'settled' THEN 0 END,
  CASE WHEN $3 = 'settled' THEN false END, NULL, now() + interval '1 second', now() + interval '1 hour', now()
FROM generate_series(1, $4) number
"""


@dataclass
class Interrupted:
    """A client with a journal in which one payment is open."""

    client: Client
    journal: Journal
    file: Path
    payment_id: str

    @classmethod
    async def of(
        cls,
        client: Client,
        directory: Path,
        *,
        payer: AgentCredentials,
        token_id: str | None,
        payee: str = PAYEE,
    ) -> "Interrupted":
        """The payment was sent with this token, or planned without one; its time is over."""
        file = directory / "payments.db"
        journal = Journal(file)
        payment_id = await begun(journal, client.unwrapped.url, payer, payee)
        if token_id is not None:
            await asyncio.wrap_future(journal.move(payment_id, Progress.SENT, token_id=token_id))
        await asyncio.wrap_future(journal.interrupt(payment_id, "No answer: ReadError."))
        interrupted = cls(client, journal, file, payment_id)
        interrupted.move_clock(3600)
        return interrupted

    def move_clock(self, seconds: int) -> None:
        with sqlite3.connect(self.file) as connection:
            connection.execute("UPDATE payment SET created_at = created_at - ?", (seconds,))

    @property
    def pending(self) -> Client:
        registry = self.client.unwrapped
        if isinstance(registry, AsyncRegistry):
            return Client(AsyncPendingPayments(registry, self.journal))
        return Client(PendingPayments(registry, self.journal))

    async def entry(self) -> Entry:
        entry = await asyncio.wrap_future(self.journal.entry(self.payment_id))
        assert entry
        return entry


async def begun(journal: Journal, registry: str, payer: AgentCredentials, payee: str, number: int = 0) -> str:
    intent = Intent(
        fingerprint=f"call {number}",
        call_id=None,
        method="POST",
        url="http://service.example/work",
        payee=payee,
        registry=registry,
        payer=payer.client_id,
        amount=Decimal("0.05"),
        currency="AVT",
        capture_by="caller",
        ttl_seconds=900,
    )
    made = await asyncio.wrap_future(journal.begin(intent, Budget.of(per_call="1")))
    return made.entry.payment_id


@pytest.fixture
async def payments(registry: TestRegistry) -> Payments:
    return await Payments.between_two(registry)


def credentials_of(agent: TestAgent) -> AgentCredentials:
    return AgentCredentials(agent.created["client_id"], agent.created["client_secret"])


async def ended_token(payments: Payments, status: str) -> str:
    """A token that ended so."""
    made = await payments.authorized("0.05")
    match status:
        case "settled":
            await payments.settle(made["token"], wait=10)
        case "released":
            await payments.release(made["token"])
        case "expired":
            await payments.past_expiry(made["token_id"])
            await payments.verify(made["token"])
    assert (await payments.listed(made["token_id"]))["status"] == status
    token_id: str = made["token_id"]
    return token_id


@pytest.mark.parametrize("status", ["settled", "released", "expired"])
async def test_a_payment_ends_as_its_token_did_behind_more_newer_tokens_than_are_listed(
    connect: Open, faults: Faults, payments: Payments, tmp_path: Path, status: str
):
    token_id = await ended_token(payments, status)
    values = (payments.caller.did, payments.service.did, status, LISTED_MAX + 1)
    await payments.registry.database.transaction(lambda tx: tx.execute(NEWER, *values))
    payer = credentials_of(payments.caller)
    interrupted = await Interrupted.of(connect(agent=payer), tmp_path, payer=payer, token_id=token_id)
    assert await interrupted.pending.list() == []
    assert (await interrupted.entry()).progress == status
    assert len([one for one in faults.sent if one.url.path == MY_TOKENS]) == 1


@pytest.mark.parametrize("refusal", ["400", "422"])
async def test_a_registry_that_refuses_the_filter_is_asked_for_the_list(
    connect: Open, faults: Faults, payments: Payments, tmp_path: Path, refusal: str
):
    token_id = await ended_token(payments, "settled")
    payer = credentials_of(payments.caller)
    interrupted = await Interrupted.of(connect(agent=payer), tmp_path, payer=payer, token_id=token_id)
    faults.next(MY_TOKENS, refusal)
    assert await interrupted.pending.list() == []
    assert (await interrupted.entry()).progress is Progress.SETTLED


async def test_a_payment_whose_token_the_registry_does_not_have_states_so_until_it_is_released(
    connect: Open, payments: Payments, tmp_path: Path
):
    payer = credentials_of(payments.caller)
    interrupted = await Interrupted.of(connect(agent=payer), tmp_path, payer=payer, token_id=str(uuid4()))
    (entry,) = await interrupted.pending.list()
    assert (entry.progress, entry.detail) == (
        Progress.SENT,
        "The registry has no such token. If nothing was paid, release the payment.",
    )
    with pytest.raises(PaymentUnresolved, match="has no such token"):
        await interrupted.pending.settle(entry.payment_id)
    released = await interrupted.pending.release(entry.payment_id)
    assert (released.progress, released.detail) == (
        Progress.RELEASED,
        "released on request: the registry has no such token",
    )
    assert await interrupted.pending.list() == []


async def test_a_payment_of_an_agent_that_was_deleted_states_why_it_stays_open(
    connect: Open, payments: Payments, tmp_path: Path
):
    token_id = await ended_token(payments, "released")
    payer = credentials_of(payments.caller)
    interrupted = await Interrupted.of(connect(agent=payer), tmp_path, payer=payer, token_id=token_id)
    caller = payments.caller
    assert (await caller.transfer(payments.service, "99.50248756")).status_code == 200
    deleted = await payments.registry.http.delete("/api/v1/agents/me", headers=caller.headers)
    assert deleted.status_code == 200, deleted.text
    (entry,) = await interrupted.pending.list()
    assert entry.progress is Progress.SENT
    assert entry.detail
    assert entry.detail.startswith("The registry does not say what became of it: ")
    with pytest.raises(PaymentUnresolved, match="does not say what became of it"):
        await interrupted.pending.release(entry.payment_id)


async def test_a_payment_without_a_token_has_expired(connect: Open, payments: Payments, tmp_path: Path):
    payer = credentials_of(payments.caller)
    interrupted = await Interrupted.of(connect(agent=payer), tmp_path, payer=payer, token_id=None)
    assert await interrupted.pending.list() == []
    assert (await interrupted.entry()).progress is Progress.EXPIRED


async def test_a_planned_payment_that_was_settled_on_request_ends_although_the_answer_was_lost(
    connect: Open, faults: Faults, payments: Payments, tmp_path: Path
):
    payer = credentials_of(payments.caller)
    client = connect(agent=payer, retries=RetryPolicy(attempts=1))
    interrupted = await Interrupted.of(
        client, tmp_path, payer=payer, token_id=None, payee=payments.service.did
    )
    interrupted.move_clock(-3600)
    faults.next(SETTLE, "answer lost")
    with pytest.raises(PaymentUnresolved):
        await interrupted.pending.settle(interrupted.payment_id)
    assert (await interrupted.entry()).progress is Progress.DELIVERED
    interrupted.move_clock(3600)
    assert await interrupted.pending.list() == []
    assert (await interrupted.entry()).progress is Progress.SETTLED


async def test_payments_of_others_in_the_journal_hide_none(connect: Open, payments: Payments, tmp_path: Path):
    token_id = await ended_token(payments, "settled")
    payer = credentials_of(payments.caller)
    interrupted = await Interrupted.of(connect(agent=payer), tmp_path, payer=payer, token_id=token_id)
    for number in range(LISTED_MAX + 1):
        await begun(interrupted.journal, "https://elsewhere.example", AGENT, PAYEE, number)
    assert await interrupted.pending.list() == []
    assert (await interrupted.entry()).progress is Progress.SETTLED


@pytest.fixture(params=[AsyncRegistry, Registry], ids=["asynchronous", "synchronous"])
async def of_the_specification(request: pytest.FixtureRequest) -> AsyncIterator[tuple[Client, list[Any]]]:
    """A registry that has no filter by id, and its tokens, newest first."""
    tokens: list[dict[str, Any]] = []

    def answer(asked: httpx2.Request) -> httpx2.Response:
        if asked.url.path != MY_TOKENS:
            return httpx2.Response(
                200, json={"access_token": "t", "token_type": "bearer", "expires_in": 5400}
            )
        status = asked.url.params.get("status")
        found = [token for token in tokens if status in {None, token["status"]}]
        return httpx2.Response(200, json=found[: int(asked.url.params["limit"])])

    transport = httpx2.MockTransport(answer)
    client = Client(request.param("https://registry.example", agent=AGENT, http_transport=transport))
    yield client, tokens
    await client.close()


def token(token_id: str, status: str) -> dict[str, Any]:
    return {
        "token_id": token_id,
        "target_agent_did": PAYEE,
        "amount": "0.05",
        "currency": "AVT",
        "status": status,
        "contract_id": None,
        "created_at": "2026-01-01T00:00:00Z",
        "expires_at": "2026-01-01T00:15:00Z",
        "settled_at": None,
    }


@pytest.mark.parametrize(
    ("newer", "progress", "detail"),
    [
        ("settled", Progress.EXPIRED, None),
        ("expired", Progress.SENT, "The registry lists newer tokens only."),
    ],
)
async def test_a_registry_without_the_filter_is_asked_for_each_status(
    of_the_specification: tuple[Client, list[Any]],
    tmp_path: Path,
    newer: str,
    progress: Progress,
    detail: str | None,
):
    client, tokens = of_the_specification
    tokens += [token(f"newer-{number}", newer) for number in range(LISTED_MAX)]
    tokens.append(token("own", "expired"))
    interrupted = await Interrupted.of(client, tmp_path, payer=AGENT, token_id="own")
    await interrupted.pending.list()
    entry = await interrupted.entry()
    assert (entry.progress, entry.detail) == (progress, detail)
