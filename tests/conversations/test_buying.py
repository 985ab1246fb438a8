"""POST /a2a-payment/buy: authorize, call, settle and show the answer in one request."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

import httpx2
import pytest

from hansa.rooms.commerce.payments.purchase import ENDS, PURCHASE_ENDS, Purchase, Purchases, end_purchase
from hansa.rooms.commerce.payments.settlement_worker import resume_settlements
from tests.operation.registry_process import until
from tests.outside import Host, host
from tests.paying import Payments
from tests.registry import StartRegistry, TestAgent, TestRegistry, at_once
from tests.running_jobs import jobs_of, run_due, time_passes

RESULT = {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "bonjour"}]}


@dataclass
class Service:
    """A service that listens: it verifies its token if it is to, then answers, or stays silent."""

    payments: Payments
    calls: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    verifies: bool = True
    is_silent: bool = False
    status: int = 200
    outcome: str | None = None
    answer: Callable[[dict[str, Any]], Any] = lambda call: {
        "jsonrpc": "2.0",
        "id": call["id"],
        "result": RESULT,
    }
    raw: bytes | None = None
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    # It answers when so many calls have come.
    together: int = 1
    have_come: asyncio.Event = field(default_factory=asyncio.Event)

    async def speak(self, head: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        lines = head.removesuffix("\r\n\r\n").split("\r\n")[1:]
        headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
        self.headers.append(headers)
        self.calls.append(json.loads(await reader.readexactly(int(headers["content-length"]))))
        if self.verifies:
            verified = await self.payments.verify(
                headers["x-payment-token"], target_agent_did=self.payments.service.did
            )
            assert verified["valid"], verified
        if len(self.calls) >= self.together:
            self.have_come.set()
        await self.have_come.wait()
        if self.is_silent:
            await self.ended.wait()
            return
        body = self.raw if self.raw is not None else json.dumps(self.answer(self.calls[-1])).encode()
        stated = f"X-Payment-Outcome: {self.outcome}\r\n" if self.outcome else ""
        writer.write(
            f"HTTP/1.1 {self.status} X\r\nContent-Length: {len(body)}\r\n{stated}Connection: close\r\n\r\n".encode()
            + body
        )

    async def ask(
        self, *, key: str | None = None, by: TestAgent | None = None, **members: Any
    ) -> httpx2.Response:
        body = {
            "target_agent_did": self.payments.service.did,
            "message": "good morning",
            "max_amount": "5",
            **members,
        }
        headers = {"Idempotency-Key": key} if key else {}
        return await self.payments.post("buy", by or self.payments.caller, body, **headers)

    async def bought(self, **members: Any) -> dict[str, Any]:
        answer = await self.ask(**members)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def tokens(self) -> list[dict[str, Any]]:
        answer = await self.payments.registry.get(
            "/a2a-payment/my-tokens", headers=self.payments.caller.headers
        )
        return answer.json()


@pytest.fixture
async def service(start_registry: StartRegistry) -> AsyncIterator[Service]:
    kept: list[Service] = []
    listening: Host

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await kept[0].speak(listening.heads[-1], reader, writer)

    async with host(speak) as listening:
        place = f"127.0.0.1:{listening.port}"
        registry = await start_registry(outgoing_allow_user_hosts=place)
        seller = await registry.agent(
            name="Service", pricing={"base_rate": "2.5"}, supportedInterfaces=[interface(place)]
        )
        kept.append(Service(Payments(registry, await registry.agent(name="Caller"), seller)))
        yield kept[0]
        kept[0].ended.set()


def interface(place: str, **members: str) -> dict[str, str]:
    return {
        "url": f"http://{place}/a2a",
        "protocolBinding": "JSONRPC",
        "protocolVersion": "1.0",
        **members,
    }


async def test_the_answer_is_shown_and_the_token_settled(service: Service):
    bought = await service.bought()
    assert bought["status"] == "settled"
    assert bought["settlement_tx_id"].startswith("tx-")
    assert (bought["amount"], bought["currency"]) == ("2.5", "AVT")
    assert bought["answer"]["result"] == RESULT
    assert (bought["task_id"], bought["reason"]) == (None, None)
    assert await service.payments.balances() == ("97.4875", "102.5")
    assert (await service.payments.registry.supply())["delta"] == "0"


async def test_the_call_carries_the_token_and_its_issuer_and_the_answer_never_does(service: Service):
    answer = await service.ask()
    (headers,) = service.headers
    assert headers["x-payment-token"].startswith("apt_")
    assert headers["x-payment-issuer"] == service.payments.registry.settings.base_url
    assert headers["a2a-version"] == "1.0"
    assert "apt_" not in answer.text


async def test_a_text_is_sent_as_a_message_and_a_request_as_it_is(service: Service):
    await service.bought()
    await service.bought(message={"messageId": "7", "role": "ROLE_USER", "parts": []})
    await service.bought(message=None, request={"method": "skills/run", "params": {"x": 1}})
    first, second, third = service.calls
    assert (first["method"], first["params"]["message"]["parts"]) == (
        "SendMessage",
        [{"text": "good morning"}],
    )
    assert second["params"]["message"]["messageId"] == "7"
    assert (third["method"], third["params"]) == ("skills/run", {"x": 1})


async def test_the_task_that_the_answer_names_is_that_of_the_settlement(service: Service):
    task = {"id": "task-9", "contextId": "c", "status": {"state": "TASK_STATE_COMPLETED"}}
    service.answer = lambda call: {"jsonrpc": "2.0", "id": call["id"], "result": {"task": task}}
    assert (await service.bought())["task_id"] == "task-9"


async def test_a_price_above_the_maximum_is_refused_and_nothing_authorized(service: Service):
    refused = await service.ask(max_amount="2.49")
    assert refused.status_code == 402
    assert refused.json()["error"]["code"] == "PRICE_ABOVE_MAXIMUM"
    assert refused.json()["error"]["context"] == {"price": "2.5", "max_amount": "2.49"}
    assert (service.calls, await service.tokens()) == ([], [])


async def test_a_balance_that_does_not_cover_the_price_is_refused_before_the_call(service: Service):
    payments = service.payments
    await payments.caller.transfer(payments.service, "98")
    refused = await service.ask()
    assert (refused.status_code, refused.json()["error"]["code"]) == (402, "INSUFFICIENT_BALANCE")
    assert (service.calls, await service.tokens()) == ([], [])


@pytest.mark.parametrize(
    "change",
    [
        {"answer": lambda call: {"jsonrpc": "2.0", "id": call["id"], "error": {"code": -32000}}},
        {
            "answer": lambda call: {
                "jsonrpc": "2.0",
                "id": call["id"],
                "result": RESULT,
                "error": {"code": -32000},
            }
        },
        {"status": 403},
        {"outcome": "failed"},
        {"raw": b"not json"},
        {
            "answer": lambda call: {
                "jsonrpc": "2.0",
                "id": call["id"],
                "result": {"task": {"id": "t", "status": {"state": "TASK_STATE_FAILED"}}},
            }
        },
    ],
    ids=["error", "result_with_error", "refused", "stated", "garbage", "failed_task"],
)
@pytest.mark.parametrize("verifies", [True, False], ids=["verified", "unverified"])
async def test_the_token_is_released_when_nothing_was_delivered(
    service: Service, change: dict[str, Any], verifies: bool
):
    service.verifies = verifies
    for name, value in change.items():
        setattr(service, name, value)
    bought = await service.bought(settle_on_timeout=True)
    assert (bought["status"], bought["settlement_tx_id"]) == ("released", None)
    assert bought["reason"] is not None
    assert await service.payments.balances() == ("100", "100")


@pytest.mark.parametrize(
    ("verifies", "settles", "status"),
    [
        (False, False, "released"),
        (False, True, "released"),
        (True, False, "released"),
        (True, True, "settled"),
    ],
)
async def test_without_an_answer_in_time_a_verified_token_is_settled_only_if_that_was_named(
    service: Service, verifies: bool, settles: bool, status: str
):
    service.verifies, service.is_silent = verifies, True
    members = {"settle_on_timeout": True} if settles else {}
    bought = await service.bought(timeout_seconds=1, **members)
    assert (bought["status"], bought["answer"], bought["reason"]) == (status, None, "timeout")


async def test_a_status_that_says_nothing_of_the_work_counts_as_no_answer(service: Service):
    service.status = 503
    assert (await service.bought())["status"] == "released"
    assert (await service.bought(settle_on_timeout=True))["status"] == "settled"


async def test_a_repeated_key_returns_the_same_answer_and_calls_once(service: Service):
    first, again = [await service.ask(key="order-1") for _ in range(2)]
    assert (first.status_code, again.json()) == (200, first.json())
    assert again.headers["Idempotent-Replayed"] == "true"
    assert len(service.calls) == 1
    reused = await service.ask(key="order-1", max_amount="6")
    assert (reused.status_code, reused.json()["error"]["code"]) == (422, "IDEMPOTENCY_KEY_REUSED")


async def test_a_key_is_free_after_24_hours_although_the_answer_was_kept_a_little_later(service: Service):
    first = await service.bought(key="order-1")
    ended = """UPDATE plumbing_idempotency SET created_at = created_at - interval '24 hours'
      WHERE answer LIKE '%' || $1 || '%'"""
    await service.payments.registry.database.transaction(lambda tx: tx.execute(ended, first["token_id"]))
    second = await service.ask(key="order-1", max_amount="6")
    assert (second.status_code, second.json()["status"]) == (200, "settled"), second.text
    again = await service.ask(key="order-1", max_amount="6")
    assert (again.json(), again.headers["Idempotent-Replayed"]) == (second.json(), "true")
    assert second.json()["token_id"] != first["token_id"]
    assert len(service.calls) == 2


async def test_of_many_purchases_under_one_key_at_once_one_is_made(service: Service):
    answers = await at_once(*(service.ask(key="order-1") for _ in range(8)))
    assert {answer.status_code for answer in answers} in ({200}, {200, 422})
    assert len(service.calls) == len(await service.tokens()) == 1


async def test_a_repetition_that_looks_for_the_answer_does_not_hinder_its_keeping(
    service: Service, monkeypatch: pytest.MonkeyPatch
):
    has_looked, may_end = asyncio.Event(), asyncio.Event()
    known = Purchases._known

    async def known_slowly(*args: Any) -> Purchase:
        try:
            return await known(*args)
        finally:
            has_looked.set()
            await may_end.wait()

    monkeypatch.setattr(Purchases, "_known", known_slowly)
    service.together = 2
    first = asyncio.create_task(service.ask(key="order-1"))
    await until(lambda: service.calls)
    again = asyncio.create_task(service.ask(key="order-1"))
    await has_looked.wait()
    service.have_come.set()
    answer = await first
    may_end.set()
    assert (answer.status_code, answer.json()["status"]) == (200, "settled")
    assert (await again).json()["error"]["code"] == "IDEMPOTENCY_KEY_IN_PROGRESS"


async def test_the_answer_kept_under_a_key_is_not_in_clear(service: Service):
    await service.bought(key="order-1")
    rows = await service.payments.registry.database.query(
        lambda tx: tx.fetch("SELECT answer FROM plumbing_idempotency")
    )
    assert len(rows) == 2
    assert not any("bonjour" in row["answer"] or "apt_" in row["answer"] for row in rows)


@pytest.mark.parametrize(
    ("verifies", "settles", "status"),
    [(False, True, "released"), (True, False, "released"), (True, True, "settled")],
)
async def test_the_purchase_of_a_process_that_died_is_ended_by_a_job(
    service: Service, monkeypatch: pytest.MonkeyPatch, verifies: bool, settles: bool, status: str
):
    service.verifies = verifies

    async def die(*_: Any, **__: Any) -> None:
        raise asyncio.CancelledError

    monkeypatch.setattr("hansa.rooms.commerce.payments.purchase.end_purchase", die)
    with pytest.raises(asyncio.CancelledError):
        await service.ask(key="order-1", settle_on_timeout=settles)
    monkeypatch.setattr("hansa.rooms.commerce.payments.purchase.end_purchase", end_purchase)
    waiting = await service.ask(key="order-1", settle_on_timeout=settles)
    assert (waiting.status_code, waiting.json()["error"]["code"]) == (422, "IDEMPOTENCY_KEY_IN_PROGRESS")
    runtime = service.payments.registry.runtime
    assert len(await jobs_of(runtime, ENDS)) == 1
    await time_passes(runtime, 120)
    await run_due(runtime, PURCHASE_ENDS)
    await settle_left(service.payments.registry)
    again = await service.ask(key="order-1", settle_on_timeout=settles)
    assert (again.status_code, again.json()["status"], again.json()["answer"]) == (200, status, None)
    assert len(service.calls) == 1


async def test_the_job_leaves_a_purchase_alone_that_has_ended(service: Service):
    bought = await service.bought()
    runtime = service.payments.registry.runtime
    await time_passes(runtime, 120)
    await run_due(runtime, PURCHASE_ENDS)
    assert await jobs_of(runtime, ENDS) == []
    assert (await service.payments.listed(bought["token_id"]))["status"] == "settled"


async def test_a_service_without_a_price_or_an_address_is_refused(service: Service):
    registry = service.payments.registry
    free = await registry.agent(supportedInterfaces=[interface("127.0.0.1:9")])
    closed = await registry.agent(pricing={"base_rate": "1"}, supportedInterfaces=[interface("127.0.0.1:9")])
    refused = [await service.ask(target_agent_did=agent.did) for agent in (free, closed)]
    assert [answer.json()["error"]["code"] for answer in refused] == [
        "PRICE_NOT_PAYABLE",
        "SERVICE_NOT_CALLABLE",
    ]
    assert (await service.ask(target_agent_did="did:web:unknown.example")).status_code == 404
    assert (await service.ask(by=service.payments.service)).status_code == 400
    assert await service.tokens() == []


async def test_a_body_of_the_wrong_shape_is_refused(service: Service):
    for members in (
        {"message": None},
        {"request": {"method": "x"}},
        {"message": ""},
        {"message": 7},
        {"message": None, "request": {"params": {}}},
        {"message": None, "request": {"method": "x", "params": []}},
        {"max_amount": None},
        {"max_amount": 5},
        {"max_amount": "-1"},
        {"timeout_seconds": 0},
        {"timeout_seconds": 61},
        {"ttl_seconds": 59},
        {"settle_on_timeout": "perhaps"},
    ):
        assert (await service.ask(**members)).status_code == 422, members
    assert service.calls == []


async def settle_left(registry: TestRegistry) -> None:
    """Resume the settlements that a process left, like the periodic job but without its delay of two seconds."""
    moved = "UPDATE commerce_payment_token SET settling_at = settling_at - interval '3 seconds' WHERE status = 'settling'"
    await registry.database.transaction(lambda tx: tx.execute(moved))
    await resume_settlements(registry.runtime)


async def test_purchases_from_one_service_do_not_wait_for_each_other(service: Service):
    service.together = 8
    bought = await at_once(*(service.bought() for _ in range(8)))
    assert {one["status"] for one in bought} == {"settled"}
