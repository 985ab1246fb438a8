"""Payment calls as the specification words them, against answers that have its members and no others."""

from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import httpx2
import msgspec
import pytest

from hansa_client import AgentCredentials, AsyncRegistry

AGENT = AgentCredentials("agent-1", "hsk_1")
PAYEE = "did:hansa:hansa.local:payee"
TOKEN = "apt_" + "0" * 64
AUTHORIZED = {
    "token": TOKEN,
    "token_id": "8d3c",
    "amount": "0.05",
    "currency": "AVT",
    "target_agent_did": PAYEE,
    "expires_at": "2026-01-01T00:15:00Z",
    "contract_id": None,
    "issuer": "https://registry.example",
    "issuer_header": "X-Payment-Issuer",
}
VERIFIED = {
    "valid": True,
    "token_id": "8d3c",
    "caller_did": "did:hansa:hansa.local:caller",
    "target_agent_did": PAYEE,
    "amount": "0.05",
    "contract_id": None,
    "expires_at": "2026-01-01T00:15:00Z",
    "currency": "AVT",
    "status": "consumed",
    "error": None,
}
SETTLED = {
    "token_id": "8d3c",
    "status": "settled",
    "settlement_tx_id": "tx-7",
    "amount": "0.05",
    "currency": "AVT",
    "caller_did": "did:hansa:hansa.local:caller",
    "target_agent_did": PAYEE,
}


@pytest.fixture
async def asked() -> Any:
    """A registry of the specification; `asked.sent` are the requests that it received."""

    answers = {
        "/api/v1/auth/agent/token": {"access_token": "t", "token_type": "bearer", "expires_in": 5400},
        "/api/v1/a2a-payment/authorize": AUTHORIZED,
        "/api/v1/a2a-payment/verify": VERIFIED,
        "/api/v1/a2a-payment/settle": SETTLED,
        "/api/v1/a2a-payment/release-by-id/8d3c": {"token_id": "8d3c", "status": "released"},
        "/api/v1/a2a-payment/my-tokens": [
            {
                "token_id": "8d3c",
                "target_agent_did": PAYEE,
                "amount": "0.05",
                "currency": "AVT",
                "status": "settled",
                "contract_id": 3,
                "created_at": "2026-01-01T00:00:00Z",
                "expires_at": "2026-01-01T00:15:00Z",
                "settled_at": "2026-01-01T00:00:05Z",
            }
        ],
    }

    sent: list[httpx2.Request] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        sent.append(request)
        return httpx2.Response(200, json=answers[request.url.path])

    async with AsyncRegistry(
        "https://registry.example", agent=AGENT, http_transport=httpx2.MockTransport(answer)
    ) as registry:
        yield SimpleNamespace(registry=registry, sent=sent)


async def test_a_token_is_authorized_verified_settled_and_listed(asked: Any):
    payments = asked.registry.payments
    authorized = await payments.authorize(PAYEE, "0.05")
    assert (authorized.amount, authorized.token_id) == (Decimal("0.05"), "8d3c")
    verdict = await payments.verify(authorized.token, target_agent_did=PAYEE)
    assert (verdict.valid, verdict.first_use) == (True, None)
    settled = await payments.settle(authorized.token, task_id="task-1", wait_seconds=5)
    assert (settled.status, settled.settlement_tx_id) == ("settled", "tx-7")
    assert [token.contract_id for token in await payments.tokens(status="settled")] == [3]
    assert (await payments.release("8d3c")).status == "released"


async def test_a_call_of_the_specification_sends_its_members_and_no_others(asked: Any):
    payments = asked.registry.payments
    await payments.authorize(PAYEE, "0.05", ttl_seconds=60, contract_id=3)
    await payments.verify(TOKEN)
    await payments.settle(TOKEN, success=False)
    bodies = [msgspec.json.decode(request.content) for request in asked.sent[1:]]
    assert bodies == [
        {"target_agent_did": PAYEE, "amount": "0.05", "ttl_seconds": 60, "contract_id": 3},
        {"token": TOKEN},
        {"token": TOKEN, "success": False},
    ]


async def test_verify_carries_no_credential_and_the_token_is_in_no_address(asked: Any):
    await asked.registry.payments.verify(TOKEN, use_id="store.1")
    (request,) = asked.sent
    assert "Authorization" not in request.headers
    assert TOKEN not in str(request.url)


async def test_settle_asks_for_the_outcome_and_authorize_carries_a_key(asked: Any):
    await asked.registry.payments.authorize(PAYEE, 1, key="call-17")
    await asked.registry.payments.settle(TOKEN)
    authorize, settle = asked.sent[1:]
    assert authorize.headers["Idempotency-Key"] == "call-17"
    assert settle.headers["Prefer"] == "wait=30"
    assert settle.extensions["timeout"]["read"] > 30


async def test_a_token_is_in_no_representation(asked: Any):
    assert TOKEN not in repr(await asked.registry.payments.authorize(PAYEE, "0.05"))
