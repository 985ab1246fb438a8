"""Paid calls end to end: a paying client, a paid service and a registry, over HTTP."""

import asyncio
import base64
import hashlib
import json
import socket
import sqlite3
from collections.abc import AsyncIterator
from decimal import Decimal
from pathlib import Path

import httpx2
import pytest

from hansa_client.pay import (
    AsyncDeliveryReceipts,
    AsyncPendingPayments,
    Budget,
    BudgetExceeded,
    OfferDeclined,
    PaymentFailed,
    PaymentRefused,
    PaymentUnresolved,
    Progress,
    paying,
)
from hansa_client.pay.offer import CardTerms, Offer, require_agreement
from hansa_client.pay.outcome import read_outcome
from hansa_client.service import PaidService, admission
from tests.client.faults import Faults
from tests.client.paid import (
    PRICE,
    BreaksPaidAnswers,
    HoldsSettlements,
    LosesPaidAnswers,
    RefusesPaidCalls,
    Shop,
    shop_of,
)
from tests.doors.served import served
from tests.registry import StartRegistry, TestRegistry, at_once


@pytest.fixture
async def registry(start_registry: StartRegistry) -> AsyncIterator[TestRegistry]:
    """A registry at its own base address, which is the issuer of its tokens."""
    async with served(start_registry) as registry:
        yield registry


@pytest.fixture(params=[True, False], ids=["captured by the payee", "settled by the caller"])
async def shop(request: pytest.FixtureRequest, registry: TestRegistry, tmp_path: Path) -> AsyncIterator[Shop]:
    """A paid service, of each kind."""
    async with shop_of(registry, tmp_path, captures=request.param) as shop:
        yield shop


@pytest.fixture
async def capturing(registry: TestRegistry, tmp_path: Path) -> AsyncIterator[Shop]:
    """A paid service that captures its payments itself."""
    async with shop_of(registry, tmp_path) as shop:
        yield shop


async def test_a_call_is_paid_and_answered(shop: Shop) -> None:
    before = await shop.payee.balance()
    response = await shop.client().post(f"{shop.url}/work", content=b"one")
    assert response.status_code == 200, response.text
    assert response.json() == {"echo": "one", "execution": 1}
    assert response.headers["x-payment-outcome"] == "delivered"
    assert [token["status"] for token in await shop.tokens()] == ["settled"]
    assert float(await shop.payee.balance()) == pytest.approx(float(before) + 0.05)


async def test_the_answer_has_a_receipt_that_both_sides_keep_as_evidence(shop: Shop) -> None:
    client = shop.client()
    response = await client.post(f"{shop.url}/work", content=b"one")
    (entry,) = await asyncio.wrap_future(client.journal.entries())
    receipts = AsyncDeliveryReceipts(shop.registry_of(shop.payer), client.journal)
    evidence = await receipts.evidence(entry.payment_id)
    assert await receipts.evidence(entry.token_id) == evidence
    assert (
        await shop.service.receipt(entry.token_id)
        == evidence.receipt
        == response.headers["x-payment-receipt"]
    )
    assert (evidence.kind, evidence.payee) == ("pay.delivery.v1", shop.payee.did)
    assert evidence.request_digest == f"sha256:{hashlib.sha256(b'one').hexdigest()}"
    assert evidence.answer_digest == f"sha256:{hashlib.sha256(response.content).hexdigest()}"
    answer = await shop.registry.post("/agents/me/rotate-signing-key", json={}, headers=shop.payee.headers)
    assert answer.status_code == 200, answer.text
    assert await receipts.evidence(entry.payment_id) == evidence
    failed = await client.post(f"{shop.url}/refuse", content=b"one")
    assert "x-payment-receipt" not in failed.headers
    with pytest.raises(KeyError):
        await receipts.evidence("5f0c4a1e9b7d4c3f8a6e2d1b0c9f8e7d")


async def test_a_stream_ends_with_its_receipt_that_both_sides_keep_as_evidence(shop: Shop) -> None:
    client = shop.client()
    async with client.stream("POST", f"{shop.url}/stream", content=b"one") as response:
        answer = await response.aread()
    assert answer == b"data: 0\n\ndata: 1\n\ndata: 2\n\n"
    (entry,) = await asyncio.wrap_future(client.journal.entries())
    evidence = await AsyncDeliveryReceipts(shop.registry_of(shop.payer), client.journal).evidence(
        entry.payment_id
    )
    assert await shop.service.receipt(entry.token_id) == evidence.receipt
    assert evidence.answer_digest == f"sha256:{hashlib.sha256(answer).hexdigest()}"


async def test_a_call_to_a_named_payee_is_paid_before_it_is_sent(shop: Shop) -> None:
    client = shop.client()
    response = await client.post(f"{shop.url}/work", content=b"one", extensions=paying(payee=shop.payee.did))
    assert response.json()["execution"] == 1
    again = await client.post(f"{shop.url}/work", content=b"two", extensions=paying(payee=shop.payee.did))
    assert again.json()["execution"] == 1
    # The card does not say who captures: the first payment was refused, and the next ones are as the service demands.
    assert [token["status"] for token in await shop.tokens()] == ["settled", "settled", "released"]


async def test_work_that_fails_is_not_paid(shop: Shop) -> None:
    for path, status in (("/raise", 500), ("/refuse", 422)):
        response = await shop.client().post(shop.url + path, content=b"one")
        assert (response.status_code, response.headers["x-payment-outcome"]) == (status, "failed")
    assert {token["status"] for token in await shop.tokens()} == {"released"}


async def test_a_call_that_is_sent_elsewhere_is_not_paid(shop: Shop) -> None:
    response = await shop.client().post(f"{shop.url}/moved", content=b"one")
    assert (response.status_code, response.headers["x-payment-outcome"]) == (307, "failed")
    assert {token["status"] for token in await shop.tokens()} == {"released"}


@pytest.mark.parametrize(("status", "reading"), [(200, "delivered"), (303, "delivered"), (307, "failed")])
def test_a_service_that_states_no_outcome_is_paid_for_what_it_did_itself(status: int, reading: str) -> None:
    assert read_outcome(status, {}).value == reading


async def test_a_service_that_is_not_reached_is_not_paid_and_leaves_nothing_pending(shop: Shop) -> None:
    client = shop.client(transport=RefusesPaidCalls(), patience_seconds=0.0)
    with pytest.raises(PaymentFailed, match=r"not reached, and nothing was paid\. No answer: ConnectError"):
        await client.post(f"{shop.url}/work", content=b"one", extensions=paying(call_id="order-1"))
    assert [token["status"] for token in await shop.tokens()] == ["released"]
    assert await asyncio.wrap_future(client.journal.open_entries()) == []
    response = await shop.client().post(
        f"{shop.url}/work", content=b"one", extensions=paying(call_id="order-1")
    )
    assert response.status_code == 200


async def test_a_capture_that_the_registry_does_not_answer_is_left_to_the_service(
    registry: TestRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admission, "CAPTURE_SECONDS", 0.2)
    silent = HoldsSettlements()
    async with shop_of(registry, tmp_path, http_transport=silent) as shop:
        token = await shop.token(capture_by="payee")
        answer = await shop.call(token)
        assert (answer.status_code, answer.json()["code"]) == (503, "CAPTURE_PENDING")
        silent.gate.set()
        monkeypatch.undo()
        assert (await shop.call(token)).json() == {"echo": "one", "execution": 1}
        assert [token["status"] for token in await shop.tokens()] == ["settled"]


async def test_a_refused_payment_of_x402_is_answered_with_its_settlement_response(capturing: Shop) -> None:
    payload = {"token": f"apt_{'0' * 64}", "issuer": capturing.registry.settings.base_url}
    stated = base64.b64encode(json.dumps({"x402Version": 2, "payload": payload}).encode()).decode()
    async with httpx2.AsyncClient() as http:
        refused = await http.post(f"{capturing.url}/work", headers={"PAYMENT-SIGNATURE": stated})
        unpaid = await http.post(f"{capturing.url}/work")
    response = json.loads(base64.b64decode(refused.headers["PAYMENT-RESPONSE"]))
    (network,) = json.loads(base64.b64decode(refused.headers["PAYMENT-REQUIRED"]))["accepts"]
    assert refused.status_code == 402
    assert response == {
        "success": False,
        "errorReason": "token_refused",
        "transaction": "",
        "network": network["network"],
    }
    assert "PAYMENT-RESPONSE" not in unpaid.headers


async def test_a_demand_that_cannot_be_read_is_returned_as_it_came(capturing: Shop) -> None:
    demand = httpx2.Response(402, content=b"[" * 200_000)
    client = capturing.client(transport=httpx2.MockTransport(lambda _: demand))
    assert (await client.get("https://service.example/")).status_code == 402
    assert await capturing.tokens() == []


def test_an_address_of_a_card_that_is_none_names_no_service() -> None:
    card = {"url": "http://[::1", "endpoints": [{"url": "http://a:99999"}], "pricing": {"base_rate": "1"}}
    for url in ("https://service.example/", "http://[::1"):
        with pytest.raises(OfferDeclined, match="does not name"):
            require_agreement(Offer("did:hansa:x", Decimal(1), None), CardTerms.of(card), url)


async def test_an_answer_in_a_broken_encoding_leaves_the_payment_pending(shop: Shop) -> None:
    client = shop.client(transport=BreaksPaidAnswers(), patience_seconds=0.0)
    with pytest.raises(PaymentUnresolved, match="No answer: DecodingError"):
        await client.post(f"{shop.url}/work", content=b"one", extensions=paying(call_id="order-1"))
    response = await shop.client().post(
        f"{shop.url}/work", content=b"one", extensions=paying(call_id="order-1")
    )
    assert response.json() == {"echo": "one", "execution": 1}


async def test_a_stream_is_paid_at_its_end(shop: Shop) -> None:
    async with shop.client().stream("POST", f"{shop.url}/stream", content=b"one") as response:
        chunks = [chunk async for chunk in response.aiter_text()]
    assert "".join(chunks) == "data: 0\n\ndata: 1\n\ndata: 2\n\n"
    assert [token["status"] for token in await shop.tokens()] == ["settled"]


async def test_a_repeated_call_gets_the_same_answer_and_no_second_execution(shop: Shop) -> None:
    token = await shop.token(capture_by="payee") if shop.service.captures else await shop.token()
    answers = [await shop.call(token) for _ in range(3)]
    assert {answer.text for answer in answers} == {json.dumps({"echo": "one", "execution": 1})}
    assert shop.works.executions == {"one": 1}


async def test_calls_with_one_token_at_the_same_moment_are_executed_once(shop: Shop) -> None:
    token = await shop.token()
    shop.works.gate.clear()
    calls = asyncio.gather(*(shop.call(token) for _ in range(8)))
    while not shop.works.executions:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    later = await shop.call(token)
    assert (later.status_code, later.json()["code"]) == (409, "WORK_IN_PROGRESS")
    assert int(later.headers["retry-after"]) >= 1
    assert "x-payment-outcome" not in later.headers
    shop.works.gate.set()
    statuses = sorted(answer.status_code for answer in await calls)
    assert statuses[0] == 200
    assert set(statuses) <= {200, 409}
    assert shop.works.executions == {"one": 1}


async def test_a_token_pays_one_call(shop: Shop) -> None:
    token = await shop.token()
    assert (await shop.call(token)).status_code == 200
    other = await shop.call(token, content=b"two")
    assert (other.status_code, other.json()["code"]) == (409, "TOKEN_USED_FOR_ANOTHER_CALL")
    assert shop.works.executions == {"one": 1}


async def test_a_call_without_a_token_is_answered_with_the_terms(shop: Shop) -> None:
    async with httpx2.AsyncClient() as http:
        answer = await http.post(f"{shop.url}/work", content=b"one")
    assert (answer.status_code, answer.headers["content-type"]) == (402, "application/problem+json")
    problem = answer.json()
    assert problem["code"] == "PAYMENT_REQUIRED"
    assert problem["payment"] == {
        "payee": shop.payee.did,
        "amount": PRICE,
        "currency": shop.registry.settings.settlement_currency,
        "issuers": [shop.registry.settings.base_url],
        "capture_by": ["payee"] if shop.service.captures else ["caller"],
        "reserved": not shop.service.captures,
        "resource": f"{shop.url}/work",
    }
    assert not shop.works.executions


async def test_a_token_below_the_price_is_refused_and_its_units_returned(capturing: Shop) -> None:
    token = await capturing.token(amount="0.04", capture_by="payee")
    answer = await capturing.call(token)
    assert (answer.status_code, answer.json()["code"]) == (402, "AMOUNT_TOO_LOW")
    assert answer.headers["x-payment-outcome"] == "failed"
    assert await capturing.status_of(token) == "released"
    assert not capturing.works.executions


@pytest.mark.parametrize(
    "token", ["", "apt_", "apt_" + "0" * 63, "apt_" + "A" * 64, "apt_" + "0" * 64, "x" * 9000]
)
async def test_a_token_of_a_wrong_shape_is_refused(capturing: Shop, token: str) -> None:
    async with httpx2.AsyncClient() as http:
        answer = await http.post(f"{capturing.url}/work", headers={"X-Payment-Token": token})
    assert answer.status_code == 402
    assert answer.json()["code"] in {"TOKEN_MALFORMED", "TOKEN_REFUSED"}
    assert not capturing.works.executions


async def test_a_token_for_another_payee_is_refused(capturing: Shop) -> None:
    other = await capturing.registry.agent()
    registry = capturing.registry_of(capturing.payer)
    token = await registry.payments.authorize(other.did, PRICE)
    answer = await capturing.call(token)
    assert (answer.status_code, answer.json()["code"]) == (402, "TOKEN_REFUSED")
    assert await capturing.status_of(token) == "authorized"


@pytest.mark.parametrize(
    ("binding", "code"),
    [
        ({"resource": "https://elsewhere.example/work"}, "BOUND_TO_ANOTHER_RESOURCE"),
        ({"request_digest": "sha256:" + "0" * 64}, "BOUND_TO_ANOTHER_REQUEST"),
    ],
)
async def test_a_token_bound_to_something_else_is_refused(
    capturing: Shop, binding: dict[str, str], code: str
) -> None:
    answer = await capturing.call(await capturing.token(**binding))
    assert (answer.status_code, answer.json()["code"]) == (402, code)
    assert not capturing.works.executions


async def test_a_token_bound_to_this_call_is_accepted(capturing: Shop) -> None:
    digest = "sha256:7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed"
    token = await capturing.token(resource=f"{capturing.url}/work", request_digest=digest)
    assert (await capturing.call(token, content=b"one")).status_code == 200


async def test_an_untrusted_issuer_is_refused_without_a_request(capturing: Shop) -> None:
    token = await capturing.token()
    with socket.create_server(("127.0.0.1", 0)) as elsewhere:
        elsewhere.setblocking(False)
        address = f"http://127.0.0.1:{elsewhere.getsockname()[1]}"
        answer = await capturing.call(token, **{"X-Payment-Issuer": address})
        assert (answer.status_code, answer.json()["code"]) == (402, "ISSUER_NOT_TRUSTED")
        with pytest.raises(BlockingIOError):
            elsewhere.accept()
    assert await capturing.status_of(token) == "authorized"


async def test_a_suspended_caller_is_refused(capturing: Shop) -> None:
    token = await capturing.token()
    administrator = await capturing.registry.administrator("admin_enforcement")
    body = {"agent_dids": [capturing.payer.did], "reason": "test"}
    path = "/admin/agents/bulk/suspend"
    suspended = await capturing.registry.post(path, json=body, headers=administrator.headers)
    assert suspended.status_code == 200, suspended.text
    answer = await capturing.call(token)
    assert (answer.status_code, answer.json()["code"]) == (402, "CALLER_SUSPENDED")


async def test_a_lost_verdict_is_asked_for_again(
    registry: TestRegistry, tmp_path: Path, faults: Faults
) -> None:
    async with shop_of(registry, tmp_path, http_transport=faults.asynchronous()) as shop:
        token = await shop.token()
        faults.next("/api/v1/a2a-payment/verify", *["answer lost"] * 3)
        answer = await shop.call(token)
        assert (answer.status_code, answer.json()["code"]) == (503, "ISSUER_UNAVAILABLE")
        assert "x-payment-outcome" not in answer.headers
        assert (await shop.call(token)).json() == {"echo": "one", "execution": 1}


async def test_work_whose_process_died_is_lost_and_never_run_again(capturing: Shop) -> None:
    token = await capturing.token(capture_by="payee")
    assert (await capturing.call(token, content=b"other")).status_code == 200
    second = await capturing.token(capture_by="payee")
    # What a killed process leaves: the work has begun, its lease ends, and no answer comes.
    store = sqlite3.connect(capturing.directory / "paid-calls.db")
    capturing.works.gate.clear()
    working = asyncio.create_task(capturing.call(second))
    while not capturing.works.executions["one"]:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    with store:
        store.execute("UPDATE hansa_paid_call SET owner = 'dead', lease_until = 0 WHERE state = 'running'")
    store.close()
    lost = await capturing.call(second)
    assert (lost.status_code, lost.json()["code"]) == (410, "WORK_LOST")
    assert lost.headers["x-payment-outcome"] == "failed"
    assert await capturing.status_of(second) == "released"
    capturing.works.gate.set()
    assert (await working).json()["code"] == "WORK_LOST"
    assert capturing.works.executions["one"] == 1


async def test_a_first_use_that_the_store_does_not_know_is_lost(
    registry: TestRegistry, tmp_path: Path
) -> None:
    async with shop_of(registry, tmp_path, captures=False) as shop:
        token = await shop.token()
        assert (await shop.call(token)).status_code == 200
        store = sqlite3.connect(shop.directory / "paid-calls.db")
        with store:
            store.execute("DELETE FROM hansa_paid_call")
        store.close()
        again = await shop.call(token)
        assert (again.status_code, again.json()["code"]) == (410, "WORK_LOST")
        assert shop.works.executions == {"one": 1}


async def test_a_token_that_a_stranger_verified_first_is_served(capturing: Shop) -> None:
    token = await capturing.token()
    for use_id in (None, "a-stranger.1"):
        verdict = await capturing.registry_of(capturing.payer).payments.verify(token.token, use_id=use_id)
        assert verdict.valid
    assert (await capturing.call(token)).json()["execution"] == 1


async def test_a_stored_answer_is_sealed_under_its_token(capturing: Shop) -> None:
    token = await capturing.token(capture_by="payee")
    assert (await capturing.call(token, content=b"a private matter")).status_code == 200
    await capturing.service.stop()
    stored = b"".join(
        file.read_bytes() for file in capturing.directory.glob("paid-calls.db*") if file.is_file()
    )
    assert b"a private matter" not in stored
    assert token.token.encode() not in stored


async def test_an_answer_is_withheld_when_the_capture_fails(capturing: Shop) -> None:
    token = await capturing.token(capture_by="payee")
    capturing.works.gate.clear()
    working = asyncio.create_task(capturing.call(token))
    while not capturing.works.executions:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    # The payee itself frees the token meanwhile, so that the capture finds it released.
    await capturing.registry_of(capturing.payee).payments.settle(token.token, success=False)
    capturing.works.gate.set()
    answer = await working
    assert (answer.status_code, answer.json()["code"]) == (402, "PAYMENT_NOT_CAPTURED")
    assert "echo" not in answer.text
    assert (await capturing.call(token)).json()["code"] == "PAYMENT_NOT_CAPTURED"


async def test_a_price_above_the_signed_card_is_declined(registry: TestRegistry, tmp_path: Path) -> None:
    async with shop_of(registry, tmp_path, price="0.06") as shop:
        with pytest.raises(OfferDeclined, match=r"signed card of its payee says 0\.05"):
            await shop.client().post(f"{shop.url}/work", content=b"one")
        assert await shop.tokens() == []


async def test_a_service_at_an_address_that_the_card_does_not_name_is_declined(
    registry: TestRegistry, tmp_path: Path
) -> None:
    async with shop_of(registry, tmp_path / "a") as shop, shop_of(registry, tmp_path / "b") as impostor:
        impostor.service.agent_did = shop.payee.did
        with pytest.raises(OfferDeclined, match="does not name"):
            await impostor.client().post(f"{impostor.url}/work", content=b"one")
        assert await impostor.tokens() == []


@pytest.mark.parametrize(
    ("budget", "paid"),
    [
        ({"per_call": "0.04"}, 0),
        ({"per_call": "1", "per_day": "0.14"}, 2),
        ({"per_call": "1", "per_payee": "0.05"}, 1),
    ],
)
async def test_a_budget_bounds_what_is_paid(capturing: Shop, budget: dict[str, str], paid: int) -> None:
    for number in range(4):
        # A new client each time: the budget is that of the journal.
        client = capturing.client(budget=Budget.of(**budget))
        try:
            await client.post(f"{capturing.url}/work", content=str(number).encode())
        except BudgetExceeded:
            assert number >= paid
    assert len(await capturing.tokens()) == paid


async def test_a_call_may_state_its_own_limit(capturing: Shop) -> None:
    with pytest.raises(BudgetExceeded, match=r"at most 0\.01"):
        await capturing.client().post(f"{capturing.url}/work", extensions=paying(max_amount="0.01"))


async def test_a_payer_without_units_pays_nothing(capturing: Shop) -> None:
    owner = await capturing.registry.developer()
    await owner.agent(name="First")
    poor = await owner.agent(name="Second")
    assert float(await poor.balance()) == 0
    with pytest.raises(PaymentFailed, match="INSUFFICIENT_BALANCE"):
        await capturing.client(poor).post(f"{capturing.url}/work", content=b"one")
    assert not capturing.works.executions


async def test_an_interrupted_call_continues_with_its_token(capturing: Shop) -> None:
    impatient = capturing.client(patience_seconds=0.0, transport=LosesPaidAnswers())
    with pytest.raises(PaymentUnresolved):
        await impatient.post(f"{capturing.url}/work", content=b"one")
    response = await capturing.client().post(f"{capturing.url}/work", content=b"one")
    assert response.json() == {"echo": "one", "execution": 1}
    assert [token["status"] for token in await capturing.tokens()] == ["settled"]


async def test_a_named_call_is_paid_once_for_ever(capturing: Shop) -> None:
    for _ in range(3):
        response = await capturing.client().post(
            f"{capturing.url}/work", content=b"one", extensions=paying(call_id="order-17")
        )
        assert response.json() == {"echo": "one", "execution": 1}
    assert len(await capturing.tokens()) == 1


async def test_pending_payments_are_shown_and_resolved(registry: TestRegistry, tmp_path: Path) -> None:
    async with shop_of(registry, tmp_path, captures=False) as shop:
        client = shop.client(patience_seconds=0.0, transport=LosesPaidAnswers())
        for body in (b"one", b"two"):
            with pytest.raises(PaymentUnresolved):
                await client.post(f"{shop.url}/work", content=body)
        pending = AsyncPendingPayments(shop.registry_of(shop.payer), client.journal)
        first, second = await pending.list()
        assert {first.progress, second.progress} == {Progress.SENT}
        assert (await pending.settle(first.payment_id)).progress is Progress.SETTLED
        assert (await pending.release(second.payment_id)).progress is Progress.RELEASED
        assert await pending.list() == []
        assert sorted(token["status"] for token in await shop.tokens()) == ["released", "settled"]


async def test_a_refused_payment_is_given_back(registry: TestRegistry, tmp_path: Path) -> None:
    # The service raised its price above its card's.
    async with shop_of(registry, tmp_path, price="0.07") as shop:
        extensions = paying(payee=shop.payee.did, capture_by="payee")
        with pytest.raises(PaymentRefused, match=r"the price is 0\.07"):
            await shop.client().post(f"{shop.url}/work", content=b"one", extensions=extensions)
        assert [token["status"] for token in await shop.tokens()] == ["released"]
        assert not shop.works.executions


async def test_many_calls_at_once_are_each_paid_once(shop: Shop) -> None:
    client = shop.client()
    answers = await at_once(*(client.post(f"{shop.url}/work", content=str(n).encode()) for n in range(15)))
    assert [answer.status_code for answer in answers] == [200] * 15
    assert set(shop.works.executions.values()) == {1}
    assert [token["status"] for token in await shop.tokens()] == ["settled"] * 15


async def test_a_service_is_described_by_its_environment(capturing: Shop) -> None:
    with pytest.raises(ValueError, match="REGISTRY_URL and AGENT_DID"):
        PaidService.from_environment({})
    environment = {
        "REGISTRY_URL": capturing.registry.settings.base_url,
        "AGENT_DID": capturing.payee.did,
        "TRUSTED_REGISTRIES": '[{"url": "https://peer.example", "client_id": "x"}]',
        "PAID_CALLS_STORE": str(capturing.directory / "other.db"),
    }
    service = PaidService.from_environment(environment, price="0.05")
    assert (service.captures, service.issuers.others) == (False, ("https://peer.example",))
    with pytest.raises(ValueError, match="is not one of the registries"):
        PaidService.from_environment({**environment, "ACCEPT_CALLER_CAPTURE": "https://other.example"})
    with pytest.raises(ValueError, match="3 machines"):
        PaidService.from_environment({**environment, "MACHINES": "3"})
