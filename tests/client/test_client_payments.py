"""Payments by the client, against the payment routes of a registry."""

from decimal import Decimal

import pytest

from hansa_client import AgentCredentials
from hansa_client.errors import BadRequest, Conflict, Forbidden, InsufficientBalance, KeyReused, NotFound
from hansa_client.records.payments import TokenToSettle
from tests.client.both import Client
from tests.client.conftest import Open
from tests.client.faults import Faults
from tests.registry import TestAgent, TestRegistry

AUTHORIZE, SETTLE = "/api/v1/a2a-payment/authorize", "/api/v1/a2a-payment/settle"
PRICING = {"base_rate": "2.5", "currency": "AVT", "payment_required": True}


@pytest.fixture
async def payer(registry: TestRegistry) -> TestAgent:
    return await registry.agent(name="Payer")


@pytest.fixture
async def payee(registry: TestRegistry) -> TestAgent:
    return await registry.agent(name="Payee", pricing=PRICING)


@pytest.fixture
def paying(connect: Open, payer: TestAgent) -> Client:
    return connect(agent=credentials_of(payer))


@pytest.fixture
def paid(connect: Open, payee: TestAgent) -> Client:
    return connect(agent=credentials_of(payee))


def credentials_of(agent: TestAgent) -> AgentCredentials:
    return AgentCredentials(agent.created["client_id"], agent.created["client_secret"])


async def test_a_payment_is_quoted_authorized_verified_settled_and_listed(
    paying: Client, paid: Client, payer: TestAgent, payee: TestAgent
):
    quoted = await paying.payments.quote(payee.did)
    assert (quoted.amount, quoted.fee, quoted.total) == (Decimal("2.5"), Decimal("0.0125"), Decimal("2.5125"))
    assert (quoted.price, quoted.rate, quoted.source) == (Decimal("2.5"), Decimal(1), "legacy")
    made = await paying.payments.authorize(payee.did, quoted.amount, contract_id=7, resource="skill-1")
    assert (made.amount, made.contract_id, made.resource) == (Decimal("2.5"), 7, "skill-1")
    assert (made.capture_by, made.reserved, made.issuer_header) == ("caller", False, "X-Payment-Issuer")
    verdict = await paid.payments.verify(made.token, target_agent_did=payee.did, use_id="store-1.a")
    assert (verdict.valid, verdict.first_use, verdict.first_use_id) == (True, True, "store-1.a")
    assert (verdict.caller_did, verdict.caller_status, verdict.capture_by) == (payer.did, "active", "caller")
    settled = await paying.payments.settle(made.token, task_id="task-1")
    assert (settled.status, settled.amount, settled.reason) == ("settled", Decimal("2.5"), None)
    assert await paying.payments.settle(made.token) == settled
    (listed,) = await paying.payments.tokens(status="settled")
    (of_payee,) = await paid.payments.tokens(role="payee")
    assert listed == of_payee
    assert (listed.token_id, listed.caller_did) == (made.token_id, payer.did)
    assert listed.settlement_tx_id == settled.settlement_tx_id
    assert listed.settled_at is not None
    assert await paying.payments.tokens(role="payee") == []
    assert (await paid.transfers.balance()).balance == Decimal("102.5")


async def test_without_patience_settling_answers_settling_and_a_repetition_the_outcome(
    paying: Client, payee: TestAgent
):
    made = await paying.payments.authorize(payee.did, "1", reserve=True)
    assert made.reserved
    begun = await paying.payments.settle(made.token, wait_seconds=0)
    assert begun.status in {"settling", "settled"}
    assert (await paying.payments.settle(made.token)).status == "settled"


async def test_a_quote_of_a_named_amount_or_of_a_price_in_another_currency(
    paying: Client, payee: TestAgent, registry: TestRegistry
):
    assert (await paying.payments.quote(payee.did, amount="1000")).total == Decimal(1005)
    foreign = await registry.agent(name="Foreign", pricing={"base_rate": 2, "currency": "EUR"})
    quoted = await paying.payments.quote(foreign.did)
    assert (quoted.price, quoted.price_currency) == (Decimal(2), "EUR")
    assert (quoted.amount, quoted.rate, quoted.total) == (None, None, None)
    with pytest.raises(NotFound):
        await paying.payments.quote("did:web:unknown.example")


@pytest.mark.parametrize("faults_met", [("answer lost",), ("503", "answer lost")])
async def test_a_token_whose_answer_was_lost_is_the_only_one(
    faults_met: tuple[str, ...], paying: Client, payee: TestAgent, faults: Faults
):
    faults.next(AUTHORIZE, *faults_met)
    made = await paying.payments.authorize(payee.did, "1")
    assert [one.token_id for one in await paying.payments.tokens()] == [made.token_id]
    keys = faults.keys(AUTHORIZE)
    assert (len(keys), len(set(keys))) == (len(faults_met) + 1, 1)


async def test_the_same_key_returns_the_same_token_and_fits_no_other_payment(
    paying: Client, payee: TestAgent
):
    first = await paying.payments.authorize(payee.did, "1", key="call-17")
    assert await paying.payments.authorize(payee.did, "1", key="call-17") == first
    with pytest.raises(KeyReused):
        await paying.payments.authorize(payee.did, "2", key="call-17")


async def test_a_settlement_whose_answer_was_lost_pays_once(
    paying: Client, paid: Client, payee: TestAgent, faults: Faults
):
    made = await paying.payments.authorize(payee.did, "10")
    faults.next(SETTLE, "answer lost", "503")
    assert (await paying.payments.settle(made.token)).status == "settled"
    assert (await paid.transfers.balance()).balance == Decimal(110)


async def test_a_released_token_pays_nobody_and_is_not_valid(paying: Client, payee: TestAgent):
    made = await paying.payments.authorize(payee.did, "1")
    released = await paying.payments.release(made.token_id, key="release-17")
    assert (released.token_id, released.status) == (made.token_id, "released")
    assert await paying.payments.release(made.token_id, key="release-17") == released
    verdict = await paying.payments.verify(made.token)
    assert (verdict.valid, verdict.status, verdict.amount) == (False, "released", None)
    with pytest.raises(BadRequest) as refused:
        await paying.payments.settle(made.token)
    assert refused.value.code == "PAYMENT_TOKEN_STATUS"
    unused = await paying.payments.authorize(payee.did, "1")
    assert (await paying.payments.settle(unused.token, success=False)).status == "released"


async def test_a_payee_captures_a_part_of_its_own_token(paying: Client, paid: Client, payee: TestAgent):
    made = await paying.payments.authorize(payee.did, "10", capture_by="payee")
    assert (made.capture_by, made.reserved) == ("payee", True)
    await paid.payments.verify(made.token, target_agent_did=payee.did)
    with pytest.raises(Forbidden):
        await paying.payments.settle(made.token)
    captured = await paid.payments.settle(made.token, capture_amount="4")
    assert (captured.status, captured.amount) == ("settled", Decimal(4))
    assert (await paid.transfers.balance()).balance == Decimal(104)


async def test_a_release_by_settling_whose_answer_was_lost_is_a_success(
    paying: Client, payee: TestAgent, faults: Faults
):
    made = await paying.payments.authorize(payee.did, "10", reserve=True)
    faults.next(SETTLE, "answer lost")
    released = await paying.payments.settle(made.token, success=False)
    assert (released.status, released.token_id) == ("released", made.token_id)
    (line,) = (await paying.payments.settle_many([TokenToSettle(token=made.token, success=False)])).items
    assert line.answer == released
    with pytest.raises(BadRequest):
        await paying.payments.settle(made.token)
    assert (await paying.transfers.balance()).balance == Decimal(100)


async def test_a_firm_quote_fixes_the_fee_of_the_payment(paying: Client, payee: TestAgent):
    quoted = await paying.payments.quote(payee.did, firm=True)
    assert quoted.quote_token
    assert quoted.quote_token not in repr(quoted)
    made = await paying.payments.authorize(payee.did, quoted.amount, quote_token=quoted.quote_token)
    assert (await paying.payments.settle(made.token)).status == "settled"
    assert (await paying.transfers.balance()).balance == Decimal(100) - quoted.total
    with pytest.raises(Conflict):
        await paying.payments.authorize(payee.did, quoted.amount, quote_token=quoted.quote_token)


async def test_many_tokens_are_settled_by_one_call_and_a_refused_one_is_named(
    paying: Client, paid: Client, payee: TestAgent
):
    one, other, third = [await paying.payments.authorize(payee.did, "1") for _ in range(3)]
    lines = [
        one.token,
        TokenToSettle(token=other.token, task_id="task-2"),
        "apt_" + "0" * 64,
        TokenToSettle(token=third.token, success=False),
    ]
    many = await paying.payments.settle_many(lines)
    assert (many.completed, many.refused) == (3, 1)
    statuses = [line.answer.status if line.answer else line.error.code for line in many.items]
    assert statuses == ["settled", "settled", "PAYMENT_TOKEN_UNKNOWN", "released"]
    assert [line.index for line in many.items] == [0, 1, 2, 3]
    assert (await paid.transfers.balance()).balance == Decimal(102)
    assert other.token not in repr(lines[1])


async def test_a_refusal_of_a_payment_is_an_error_of_its_code(paying: Client, payee: TestAgent):
    with pytest.raises(InsufficientBalance) as refused:
        await paying.payments.authorize(payee.did, "1000")
    assert refused.value.context["available"] == "100"
    with pytest.raises(BadRequest):
        await paying.payments.authorize(payee.did, "0")
    with pytest.raises(NotFound):
        await paying.payments.settle("apt_" + "0" * 64)
    assert (await paying.payments.verify("nonsense")).valid is False


async def test_a_payment_that_the_owner_approved_is_authorized(connect: Open, registry: TestRegistry):
    owner = await registry.developer()
    payer, payee = await owner.agent(), await owner.agent()
    policy = {"spend_policy": {"approval_over": "5"}}
    answer = await registry.http.put(f"/api/v1/agents/{payer.did}/authz", json=policy, headers=owner.headers)
    assert answer.status_code == 200, answer.text
    client = connect(agent=credentials_of(payer))
    with pytest.raises(Forbidden) as needed:
        await client.payments.authorize(payee.did, "10")
    assert needed.value.code == "SPEND_APPROVAL_REQUIRED"
    approval_id = needed.value.context["approval_id"]
    path = f"/agents/{payer.did}/spend-approvals/{approval_id}/approve"
    assert (await registry.post(path, json={}, headers=owner.headers)).status_code == 200
    made = await client.payments.authorize(payee.did, "10", approval_id=approval_id)
    assert (await client.payments.settle(made.token)).status == "settled"
