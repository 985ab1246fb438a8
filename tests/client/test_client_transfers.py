"""Transfers by the client: typed answers, and one movement per intent whatever the network loses."""

from decimal import Decimal

import pytest

from hansa_client import AgentCredentials, OutcomeUnknown, RetryPolicy, Unreachable
from hansa_client.amounts import Amount, amount_text
from hansa_client.errors import (
    AnswerInvalid,
    ApprovalNeeded,
    BadRequest,
    InsufficientBalance,
    Invalid,
    KeyReused,
    NotFound,
    ServerFailed,
    TooManyRequests,
    Unauthorized,
)
from hansa_client.records.ledger import TransferLine
from tests.client.both import Client
from tests.client.conftest import Open
from tests.client.faults import Faults
from tests.client.test_client_accounts import registered
from tests.registry import TestRegistry, card_of

TRANSFER = "/api/v1/teg/transfer"


async def two_agents(connect: Open, **options: object) -> tuple[Client, Client, str]:
    """A payer that holds 100, a payee that holds nothing, and the payee's DID."""
    developer = await registered(connect)
    payer = await developer.agents.create(card=card_of("Payer"))
    payee = await developer.agents.create(card=card_of("Payee"))
    return (
        connect(agent=payer.credentials, **options),
        connect(agent=payee.credentials),
        payee.agent_did,
    )


async def test_the_payee_receives_the_amount_whole_and_the_payer_pays_the_fee_on_top(connect: Open):
    payer, payee, did = await two_agents(connect)
    planned = await payer.transfers.plan(did, "10")
    assert (planned.status, planned.fee_amount) == ("dry_run", Decimal("0.05"))
    moved = await payer.transfers.transfer(did, 10, message="For the picture")
    assert (moved.amount, moved.fee_amount, moved.new_sender_balance) == (
        Decimal(10),
        Decimal("0.05"),
        Decimal("89.95"),
    )
    sent = await payer.transfers.send(did, Decimal("1.5"))
    assert (sent.method, sent.amount_received) == ("local", Decimal("1.5"))
    assert (await payee.transfers.balance()).balance == Decimal("11.5")
    lines = (await payee.transfers.transactions(direction="received", limit=1)).items
    assert [(line.amount, line.direction) for line in lines] == [(Decimal("1.5"), "received")]
    assert (await payer.transfers.fees()).base_rate_percent == Decimal("0.5")


@pytest.mark.parametrize("faults_met", [("answer lost",), ("503", "answer lost"), ("request lost", "503")])
async def test_a_transfer_whose_answer_was_lost_moves_units_once(
    faults_met: tuple[str, ...], connect: Open, faults: Faults
):
    payer, payee, did = await two_agents(connect)
    faults.next(TRANSFER, *faults_met)
    await payer.transfers.transfer(did, "10")
    assert (await payee.transfers.balance()).balance == Decimal(10)
    keys = faults.keys(TRANSFER)
    assert len(keys) == len(faults_met) + 1
    assert len(set(keys)) == 1


async def test_many_transfers_are_sent_by_one_call_and_a_refused_one_is_named(connect: Open, faults: Faults):
    payer, payee, did = await two_agents(connect)
    lines = [
        TransferLine(receiver_did=did, amount=Decimal(1), key="line-1", message="One"),
        TransferLine(receiver_did="did:hansa:hansa.local:nobody", amount=Decimal(1), key="line-2"),
        TransferLine(receiver_did=did, amount=Decimal(2), key="line-3"),
    ]
    faults.next("/api/v1/teg/transfers", "answer lost")
    many = await payer.transfers.transfer_many(lines)
    assert (many.completed, many.refused) == (2, 1)
    assert [one.answer.amount if one.answer else one.error.code for one in many.items] == [
        Decimal(1),
        "ACCOUNT_UNKNOWN",
        Decimal(2),
    ]
    assert (await payee.transfers.balance()).balance == Decimal(3)
    with pytest.raises(NotFound) as refused:
        await payer.transfers.transfer_many([lines[1]], atomic=True)
    assert refused.value.context["index"] == 0


async def test_two_intents_have_two_keys(connect: Open, faults: Faults):
    payer, payee, did = await two_agents(connect)
    await payer.transfers.transfer(did, "10")
    await payer.transfers.transfer(did, "10")
    assert (await payee.transfers.balance()).balance == Decimal(20)
    assert len(set(faults.keys(TRANSFER))) == 2


async def test_an_unknown_outcome_is_settled_by_the_same_call_with_its_key(connect: Open, faults: Faults):
    payer, payee, did = await two_agents(connect, retries=RetryPolicy(attempts=2))
    faults.next(TRANSFER, "answer lost", "answer lost")
    with pytest.raises(OutcomeUnknown) as unknown:
        await payer.transfers.transfer(did, "10")
    await payer.transfers.transfer(did, "10", key=unknown.value.idempotency_key)
    assert (await payee.transfers.balance()).balance == Decimal(10)


async def test_a_refused_attempt_after_a_lost_one_is_not_reported_as_nothing_happened(
    connect: Open, faults: Faults
):
    payer, _, did = await two_agents(connect, retries=RetryPolicy(attempts=2))
    faults.next(TRANSFER, "answer lost", "503")
    with pytest.raises(OutcomeUnknown):
        await payer.transfers.transfer(did, "10")


@pytest.mark.parametrize("fault", ["a page", "half a document", "broken encoding", "500", "524"])
async def test_an_answer_that_shows_no_outcome_names_the_key_to_repeat_the_transfer_with(
    fault: str, connect: Open, faults: Faults
):
    payer, payee, did = await two_agents(connect)
    faults.next(TRANSFER, fault)
    with pytest.raises(OutcomeUnknown) as unknown:
        await payer.transfers.transfer(did, "10")
    assert (await payee.transfers.balance()).balance == Decimal(10), "the registry had done it"
    await payer.transfers.transfer(did, "10", key=unknown.value.idempotency_key)
    assert (await payee.transfers.balance()).balance == Decimal(10)


@pytest.mark.parametrize("fault", ["a page", "half a document", "broken encoding"])
async def test_a_reading_that_is_answered_with_something_else_says_so(
    fault: str, connect: Open, faults: Faults
):
    payer, _, _ = await two_agents(connect)
    faults.next("/api/v1/teg/balance", fault)
    with pytest.raises(AnswerInvalid, match="GET /api/v1/teg/balance"):
        await payer.transfers.balance()


@pytest.mark.parametrize("refused", [("401", "401"), ("403",), ("401",)])
async def test_an_attempt_that_was_not_admitted_does_not_show_what_the_one_before_it_did(
    refused: tuple[str, ...], connect: Open, faults: Faults
):
    payer, payee, did = await two_agents(connect)
    await payer.transfers.balance()
    faults.next(TRANSFER, "answer lost", *refused)
    if refused == ("401",):
        faults.next("/api/v1/auth/agent/token", "500")
    with pytest.raises(OutcomeUnknown) as unknown:
        await payer.transfers.transfer(did, "10")
    assert unknown.value.idempotency_key in faults.keys(TRANSFER)
    assert (await payee.transfers.balance()).balance == Decimal(10)


async def test_a_login_that_fails_is_no_request_that_may_have_taken_effect(connect: Open, faults: Faults):
    payer, _, did = await two_agents(connect)
    faults.next("/api/v1/auth/agent/token", "500")
    with pytest.raises(ServerFailed):
        await payer.transfers.transfer(did, "10")
    assert faults.keys(TRANSFER) == []


async def test_a_redirection_is_not_followed_and_its_target_is_named(connect: Open, faults: Faults):
    payer, _, _ = await two_agents(connect)
    faults.next("/api/v1/teg/balance", "a redirection")
    with pytest.raises(AnswerInvalid, match=r"redirected to https://registry\.example/"):
        await payer.transfers.balance()


async def test_a_refusal_that_is_no_problem_document_is_a_refusal_all_the_same(connect: Open, faults: Faults):
    payer, _, _ = await two_agents(connect)
    faults.next("/api/v1/teg/balance", "a deep refusal")
    with pytest.raises(BadRequest):
        await payer.transfers.balance()


@pytest.mark.parametrize("key", ["", "two words", "k" * 256, "clé"])
async def test_a_key_that_no_registry_accepts_is_refused_before_anything_is_sent(
    key: str, connect: Open, faults: Faults
):
    payer, _, did = await two_agents(connect)
    with pytest.raises(ValueError, match="an idempotency key has 1 to 255 visible ASCII characters"):
        await payer.transfers.transfer(did, "10", key=key)
    assert faults.keys(TRANSFER) == []


@pytest.mark.parametrize("amount", ["1e999999999", "-1", "nan", "1_0", " 1", "１２", "", ".", Decimal(-1)])
def test_what_is_no_amount_is_refused(amount: Amount):
    with pytest.raises(ValueError, match="an amount"):
        amount_text(amount)


@pytest.mark.parametrize(
    ("amount", "text"),
    [("12.5", "12.5"), ("1e1", "10"), (".5", "0.5"), ("+1", "1"), (Decimal("1E-8"), "0.00000001")],
)
def test_an_amount_is_written_with_all_its_digits(amount: Amount, text: str):
    assert amount_text(amount) == text


async def test_without_an_answer_to_any_attempt_nothing_happened(connect: Open, faults: Faults):
    payer, payee, did = await two_agents(connect, retries=RetryPolicy(attempts=2))
    faults.next(TRANSFER, "request lost", "request lost")
    with pytest.raises(Unreachable):
        await payer.transfers.transfer(did, "10")
    assert (await payee.transfers.balance()).balance == 0


async def test_a_creation_whose_answer_was_lost_is_not_repeated(connect: Open, faults: Faults):
    developer = await registered(connect)
    faults.next("/api/v1/onboard/create_agent", "answer lost")
    with pytest.raises(OutcomeUnknown):
        await developer.agents.create(card=card_of("Painter"))
    assert len((await developer.agents.list()).items) == 1


async def test_a_refusal_is_an_error_of_its_code_with_its_context(connect: Open):
    payer, _, did = await two_agents(connect)
    with pytest.raises(InsufficientBalance) as refused:
        await payer.transfers.transfer(did, "1000")
    assert refused.value.status == 402
    assert refused.value.context["available"] == "100"
    with pytest.raises(NotFound):
        await payer.transfers.transfer("did:hansa:hansa.local:nobody", "1")
    with pytest.raises(Invalid) as invalid:
        await payer.transfers.transfer(did, "0")
    assert invalid.value.field == "amount"
    await payer.transfers.transfer(did, "1", key="once")
    with pytest.raises(KeyReused):
        await payer.transfers.transfer(did, "2", key="once")


@pytest.mark.parametrize("amount", [1.5, True, "ten", "NaN"])
async def test_an_amount_that_is_no_decimal_never_leaves_the_client(
    amount: object, connect: Open, faults: Faults
):
    client = connect()
    with pytest.raises((TypeError, ValueError)):
        await client.transfers.transfer("did:hansa:hansa.local:x", amount)
    assert faults.sent == []


async def test_a_wrong_secret_is_unauthorized(connect: Open):
    developer = await registered(connect)
    created = await developer.agents.create(card=card_of("Painter"))
    wrong = type(created.credentials)(created.client_id, "hsk_" + "0" * 64)
    with pytest.raises(Unauthorized):
        await connect(agent=wrong).transfers.balance()


async def test_a_payment_over_the_owners_limit_waits_for_the_owner(connect: Open, registry: TestRegistry):
    owner = await registry.developer()
    payer, payee = await owner.agent(), await owner.agent()
    policy = {"spend_policy": {"approval_over": "5"}}
    answer = await registry.http.put(f"/api/v1/agents/{payer.did}/authz", json=policy, headers=owner.headers)
    assert answer.status_code == 200, answer.text
    client = connect(agent=_credentials(payer.created))
    with pytest.raises(ApprovalNeeded) as needed:
        await client.transfers.transfer(payee.did, "10")
    pending = needed.value.pending
    path = f"/agents/{payer.did}/spend-approvals/{pending.approval_id}/approve"
    assert (await registry.post(path, json={}, headers=owner.headers)).status_code == 200
    await client.transfers.transfer(payee.did, "10", key=needed.value.idempotency_key)
    assert await payee.balance() == "10"


async def test_a_rate_limit_longer_than_the_patience_is_an_error_that_names_its_length(connect: Open):
    client = connect(retries=RetryPolicy(attempts=2, pause_seconds_max=0.1))
    limited: list[TooManyRequests] = []
    while not limited:
        try:
            await client.accounts.login("nobody@example.org", "Wrong-Password-1")
        except TooManyRequests as refused:
            limited.append(refused)
        except Unauthorized:
            continue
    assert limited[0].retry_after_seconds > 0


def _credentials(created: dict[str, str]):
    return AgentCredentials(created["client_id"], created["client_secret"])
