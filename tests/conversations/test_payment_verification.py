"""POST /a2a-payment/verify as the specification has it: always 200, in its order of evaluation."""

import pytest

from tests.paying import ELSEWHERE, Payments
from tests.registry import TestRegistry, at_once


@pytest.fixture(scope="module")
def registry(registry_of_file: TestRegistry) -> TestRegistry:
    return registry_of_file


@pytest.fixture
async def payments(registry: TestRegistry) -> Payments:
    return await Payments.between_two(registry)


@pytest.mark.parametrize(
    "token", ["", "apt_", "apt_" + "0" * 64, "hsk_" + "0" * 64, "x" * 10_000, "ünïcode"], ids=len
)
async def test_an_unknown_or_malformed_token_is_not_found(payments: Payments, token: str):
    answer = await payments.verify(token)
    assert answer.pop("valid") is False
    assert answer.pop("error") == "Token not found"
    assert set(answer.values()) == {None}


async def test_a_valid_token_is_consumed_and_stays_valid_until_it_is_settled(payments: Payments):
    made = await payments.authorized("2.5", resource="translate", request_digest="sha256:" + "a" * 64)
    first = await payments.verify(made["token"], target_agent_did=payments.service.did)
    assert first["valid"] is True
    assert first["status"] == "consumed"
    assert first["error"] is None
    assert (first["amount"], first["currency"]) == ("2.5", "AVT")
    assert (first["caller_did"], first["target_agent_did"]) == (payments.caller.did, payments.service.did)
    assert (first["resource"], first["request_digest"]) == ("translate", "sha256:" + "a" * 64)
    assert (first["capture_by"], first["reserved"], first["caller_status"]) == ("caller", False, "active")
    again = await payments.verify(made["token"])
    assert again["valid"] is True
    assert (first["first_use"], again["first_use"]) == (True, False)


async def test_a_token_for_another_payee_is_named_so_and_not_consumed(payments: Payments):
    made = await payments.authorized()
    answer = await payments.verify(made["token"], target_agent_did=ELSEWHERE)
    assert (answer["valid"], answer["error"]) == (False, "Token not issued for this agent")
    assert answer["caller_did"] is None
    assert (await payments.listed(made["token_id"]))["status"] == "authorized"


async def test_an_expired_token_is_marked_so(payments: Payments):
    made = await payments.authorized()
    await payments.past_expiry(made["token_id"])
    answer = await payments.verify(made["token"], target_agent_did=ELSEWHERE)
    assert (answer["valid"], answer["error"], answer["status"]) == (False, "Token expired", "expired")
    assert (await payments.listed(made["token_id"]))["status"] == "expired"


async def test_what_a_token_reserved_goes_back_when_a_verification_finds_it_expired(payments: Payments):
    made = await payments.authorized("10", reserve=True)
    await payments.past_expiry(made["token_id"])
    await payments.verify(made["token"])
    assert await payments.caller.balance() == "100"


@pytest.mark.parametrize("ending", ["settled", "released"])
async def test_a_token_that_has_ended_answers_with_its_status_and_past_its_time_that_it_expired(
    payments: Payments, ending: str
):
    made = await payments.authorized()
    await payments.settle(made["token"], wait=10, success=ending == "settled")
    answer = await payments.verify(made["token"])
    assert (answer["valid"], answer["error"], answer["status"]) == (False, f"Token status: {ending}", ending)
    await payments.past_expiry(made["token_id"])
    answer = await payments.verify(made["token"])
    assert (answer["error"], answer["status"]) == ("Token expired", "expired")
    assert (await payments.listed(made["token_id"]))["status"] == ending


async def test_of_many_verifications_at_once_one_is_the_first_use(payments: Payments):
    made = await payments.authorized()
    answers = await at_once(*(payments.verify(made["token"]) for _ in range(50)))
    assert all(answer["valid"] for answer in answers)
    assert [answer["first_use"] for answer in answers].count(True) == 1


async def test_the_use_that_consumed_a_token_may_ask_again_and_is_named_to_the_payee(payments: Payments):
    made = await payments.authorized()
    ours = await at_once(*(payments.verify(made["token"], use_id="store.1") for _ in range(5)))
    assert [answer["first_use"] for answer in ours] == [True] * 5
    other = await payments.verify(made["token"], use_id="store.2", target_agent_did=payments.service.did)
    assert (other["valid"], other["first_use"], other["first_use_id"]) == (True, False, "store.1")
    assert (await payments.verify(made["token"], use_id="store.2"))["first_use_id"] is None


async def test_the_status_of_the_caller_is_returned(payments: Payments):
    made = await payments.authorized()
    administrator = await payments.registry.administrator("admin_enforcement")
    body = {"agent_dids": [payments.caller.did], "reason": "test"}
    await payments.registry.post("/admin/agents/bulk/suspend", json=body, headers=administrator.headers)
    assert (await payments.verify(made["token"]))["caller_status"] == "suspended"


@pytest.mark.parametrize("token", [None, 5, [], {}, True], ids=repr)
async def test_a_token_that_is_no_text_is_refused(payments: Payments, token: object):
    assert (await payments.post("verify", None, {"token": token})).status_code == 422


async def test_a_token_of_ten_megabytes_is_refused(payments: Payments):
    assert (await payments.post("verify", None, {"token": "a" * 10_000_000})).status_code == 413
