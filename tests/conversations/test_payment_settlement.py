"""POST /a2a-payment/settle, settle-many, release, release-by-id and GET my-tokens as the specification has them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

import pytest

from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms.commerce.payments import resume_settlements
from hansa.rooms.commerce.payments.settlement_worker import end_overdue
from tests.paying import Payments
from tests.registry import TestAgent, TestRegistry, at_once

UNKNOWN = "apt_" + "0" * 64


@pytest.fixture(scope="module")
def registry(registry_of_file: TestRegistry) -> TestRegistry:
    return registry_of_file


@pytest.fixture
async def payments(registry: TestRegistry) -> Payments:
    return await Payments.between_two(registry)


def refusal(answer) -> tuple[int, str, str]:
    problem = answer.json()
    return answer.status_code, problem["error"]["code"], problem["detail"]


async def suspend(payments: Payments, did: str) -> None:
    administrator = await payments.registry.administrator("admin_enforcement")
    body = {"agent_dids": [did], "reason": "test"}
    await payments.registry.post("/admin/agents/bulk/suspend", json=body, headers=administrator.headers)


async def test_settling_answers_settling_and_pays_after_the_answer(payments: Payments):
    made = await payments.authorized("10")
    answer = await payments.settle(made["token"], task_id="task-1")
    assert answer.status_code == 200
    assert answer.json() == {
        "token_id": made["token_id"],
        "status": "settling",
        "settlement_tx_id": None,
        "amount": "10",
        "currency": "AVT",
        "caller_did": payments.caller.did,
        "target_agent_did": payments.service.did,
        "reason": None,
    }
    ended = await payments.ended(made["token_id"])
    assert ended["status"] == "settled"
    assert ended["settled_at"] is not None
    assert await payments.balances() == ("89.95", "110")


async def test_prior_verification_is_not_needed_and_does_no_harm(payments: Payments):
    made = await payments.authorized("10")
    await payments.verify(made["token"])
    settled = await payments.settle(made["token"], wait=10)
    assert settled.json()["status"] == "settled"
    assert settled.json()["settlement_tx_id"].startswith("tx-")
    assert settled.headers["Preference-Applied"] == "wait=10"


async def test_a_settled_token_answers_settled_again_and_pays_no_second_time(payments: Payments):
    made = await payments.authorized("10")
    first = await payments.settle(made["token"], wait=10)
    again = await payments.settle(made["token"])
    assert first.json() == again.json()
    assert await payments.balances() == ("89.95", "110")


async def test_only_the_caller_settles(payments: Payments):
    made = await payments.authorized()
    assert refusal(await payments.settle(made["token"], by=payments.service))[:2] == (
        403,
        "PAYMENT_TOKEN_OF_ANOTHER",
    )
    stranger = await payments.registry.agent()
    assert (await payments.settle(made["token"], by=stranger, success=False)).status_code == 403


@pytest.mark.parametrize("token", [UNKNOWN, "", "nonsense"])
async def test_an_unknown_token_is_404(payments: Payments, token: str):
    assert (await payments.settle(token)).status_code == 404
    assert (await payments.release(token)).status_code == 404


@pytest.mark.parametrize("is_verified", [False, True])
async def test_success_false_releases_an_authorized_and_a_consumed_token(
    payments: Payments, is_verified: bool
):
    made = await payments.authorized("10", reserve=True)
    if is_verified:
        await payments.verify(made["token"])
    answer = await payments.settle(made["token"], success=False)
    assert (answer.status_code, answer.json()["status"]) == (200, "released")
    assert await payments.balances() == ("100", "100")


@pytest.mark.parametrize("success", [True, False])
async def test_a_released_token_is_not_settled(payments: Payments, success: bool):
    made = await payments.authorized()
    await payments.release(made["token"])
    assert refusal(await payments.settle(made["token"], success=success)) == (
        400,
        "PAYMENT_TOKEN_STATUS",
        "Token status: released",
    )


async def test_a_verified_token_that_ended_meanwhile_is_judged_as_it_is(payments: Payments):
    one, other = await payments.authorized("10"), await payments.authorized("10")
    for made in (one, other):
        await payments.verify(made["token"])
    await payments.settle(one["token"], success=False)
    await payments.past_expiry(other["token_id"])
    assert refusal(await payments.settle(one["token"])) == (
        400,
        "PAYMENT_TOKEN_STATUS",
        "Token status: released",
    )
    assert refusal(await payments.settle(other["token"])) == (400, "PAYMENT_TOKEN_EXPIRED", "Token expired")
    assert await payments.balances() == ("100", "100")


async def test_with_prefer_wait_a_released_token_is_released_again_and_never_settled(payments: Payments):
    made = await payments.authorized()
    first = await payments.settle(made["token"], success=False, wait=1)
    again = await payments.settle(made["token"], success=False, wait=1)
    assert first.json() == again.json()
    assert (again.status_code, again.json()["status"]) == (200, "released")
    assert (await payments.settle(made["token"], wait=1)).status_code == 400


async def test_settling_after_the_expiry_is_refused_and_marks_the_token_expired(payments: Payments):
    made = await payments.authorized("10", reserve=True)
    await payments.past_expiry(made["token_id"])
    assert refusal(await payments.settle(made["token"])) == (400, "PAYMENT_TOKEN_EXPIRED", "Token expired")
    assert (await payments.listed(made["token_id"]))["status"] == "expired"
    assert await payments.caller.balance() == "100"


async def test_success_false_and_release_after_the_expiry_and_before_the_sweep_release(payments: Payments):
    one, other = await payments.authorized(), await payments.authorized()
    for made in (one, other):
        await payments.past_expiry(made["token_id"])
    assert (await payments.settle(one["token"], success=False)).json()["status"] == "released"
    assert (await payments.release(other["token"])).json()["status"] == "released"


async def test_a_settlement_that_lacks_funds_fails_with_its_reason_and_moves_nothing(payments: Payments):
    made = await payments.authorized("60")
    await payments.caller.transfer(payments.service, "60")
    failed = await payments.settle(made["token"], wait=10)
    assert failed.status_code == 200
    assert (failed.json()["status"], failed.json()["reason"]) == ("failed", "insufficient_balance")
    assert await payments.balances() == ("39.7", "160")
    assert refusal(await payments.settle(made["token"]))[2] == "Token status: failed"
    assert (await payments.settle(made["token"], wait=1)).json()["status"] == "failed"


async def test_a_reserved_settlement_does_not_lack_funds(payments: Payments):
    made = await payments.authorized("60", reserve=True)
    assert (await payments.caller.transfer(payments.service, "60")).status_code == 402
    assert (await payments.settle(made["token"], wait=10)).json()["status"] == "settled"
    assert await payments.balances() == ("39.7", "160")


@pytest.mark.parametrize("is_reserved", [False, True])
async def test_a_settlement_whose_payee_is_suspended_fails_and_the_caller_keeps_its_units(
    payments: Payments, is_reserved: bool
):
    made = await payments.authorized("10", reserve=is_reserved)
    await suspend(payments, payments.service.did)
    failed = await payments.settle(made["token"], wait=10)
    assert (failed.json()["status"], failed.json()["reason"]) == ("failed", "party_suspended")
    assert await payments.caller.balance() == "100"


async def test_what_a_suspended_payer_reserved_is_not_captured_and_goes_back_at_every_end(payments: Payments):
    captured, released, expired = [await payments.authorized("10", capture_by="payee") for _ in range(3)]
    await suspend(payments, payments.caller.did)
    assert (await payments.verify(captured["token"]))["caller_status"] == "suspended"
    failed = await payments.settle(captured["token"], by=payments.service, wait=10)
    assert (failed.json()["status"], failed.json()["reason"]) == ("failed", "party_suspended")
    assert (await payments.release(released["token"], by=payments.service)).status_code == 200
    await payments.past_expiry(expired["token_id"])
    assert (await payments.verify(expired["token"]))["error"] == "Token expired"
    balance = await payments.registry.database.query(
        lambda tx: tx.fetchrow(
            "SELECT liquid, escrow FROM ledger_account WHERE did = $1 AND unit = ''", payments.caller.did
        )
    )
    assert tuple(balance.values()) == (100 * 10**8, 0)


async def test_a_payee_elsewhere_is_not_paid_yet(payments: Payments):
    made = await payments.authorized(target_agent_did="did:web:agents.elsewhere.example")
    failed = await payments.settle(made["token"], wait=10)
    assert (failed.json()["status"], failed.json()["reason"]) == ("failed", "payee_unknown")


async def test_of_100_settlements_at_once_one_pays(payments: Payments):
    made = await payments.authorized("10")
    answers = await at_once(*(payments.settle(made["token"]) for _ in range(100)))
    found = {(answer.status_code, answer.json().get("status")) for answer in answers}
    assert found <= {(200, "settling"), (200, "settled"), (409, 409)}
    assert [answer.json().get("status") for answer in answers].count("settling") == 1
    await payments.ended(made["token_id"])
    assert await payments.balances() == ("89.95", "110")


async def test_with_prefer_wait_all_of_many_at_once_get_the_outcome(payments: Payments):
    made = await payments.authorized("10")
    answers = await at_once(*(payments.settle(made["token"], wait=20) for _ in range(20)))
    assert {(answer.status_code, answer.json()["status"]) for answer in answers} == {(200, "settled")}
    assert len({answer.json()["settlement_tx_id"] for answer in answers}) == 1


async def left_settling(payments: Payments, token_id: str, seconds: int) -> None:
    """Leave the token like a process that died so many seconds ago, right after its answer."""
    moved = """UPDATE commerce_payment_token SET status = 'settling',
      settling_at = clock_timestamp() - make_interval(secs => $2) WHERE id = $1"""
    await payments.registry.database.transaction(lambda tx: tx.execute(moved, token_id, float(seconds)))


@pytest.mark.parametrize(
    ("preferences", "applied"),
    [
        (["wait=5"], "wait=5"),
        (["respond-async, WAIT = 5; a=b"], "wait=5"),
        (["respond-async", 'wait="5"'], "wait=5"),
        (["wait=31"], "wait=30"),
        (["wait=" + "9" * 5000], "wait=30"),
        (["wait=00000000000002"], "wait=2"),
        (["x" * 1000 + ", wait=0"], "wait=0"),
        (["wait=-1"], None),
        (["wait=1.5"], None),
        (["wait"], None),
        (["other=wait=3"], None),
        ([""], None),
    ],
)
async def test_a_preference_to_wait_is_read_as_http_has_it_and_others_are_ignored(
    payments: Payments, preferences: list[str], applied: str | None
):
    made = await payments.authorized()
    headers = [*payments.caller.headers.items(), *(("Prefer", one) for one in preferences)]
    answer = await payments.registry.post(
        "/a2a-payment/settle", json={"token": made["token"]}, headers=headers
    )
    assert (answer.status_code, answer.headers.get("Preference-Applied")) == (200, applied)
    assert answer.json()["status"] == ("settling" if applied is None else "settled")


async def test_what_a_dead_process_left_settling_is_paid_by_another(payments: Payments):
    made = await payments.authorized("10")
    await left_settling(payments, made["token_id"], 60)
    assert (await payments.settle(made["token"])).status_code == 409
    await resume_settlements(payments.registry.runtime)
    assert (await payments.listed(made["token_id"]))["status"] == "settled"
    assert await payments.balances() == ("89.95", "110")


@pytest.mark.parametrize("is_reserved", [False, True])
async def test_what_found_no_outcome_in_90_seconds_fails_and_nothing_moves(
    payments: Payments, is_reserved: bool
):
    made = await payments.authorized("10", reserve=is_reserved)
    await left_settling(payments, made["token_id"], 91)
    await resume_settlements(payments.registry.runtime)
    listed = await payments.listed(made["token_id"])
    assert (listed["status"], listed["reason"]) == ("failed", "timeout")
    assert await payments.balances() == ("100", "100")


@asynccontextmanager
async def stalled(payments: Payments) -> AsyncIterator[None]:
    """The account of the payee is locked: no payment to it is carried out."""
    statement = "SELECT FROM ledger_account WHERE did = $1 FOR UPDATE"
    locked, ended = asyncio.Event(), asyncio.Event()

    async def hold(tx: Tx) -> None:
        await tx.execute(statement, payments.service.did)
        locked.set()
        await ended.wait()

    holding = asyncio.create_task(payments.registry.database.transaction(hold))
    await locked.wait()
    try:
        yield
    finally:
        ended.set()
        await holding


async def test_a_settle_while_the_ledger_stalls_answers_settling_and_is_paid_later(payments: Payments):
    made = await payments.authorized("10")
    async with stalled(payments):
        answer = await payments.settle(made["token"])
        assert (answer.status_code, answer.json()["status"]) == (200, "settling"), answer.text
        assert (await payments.listed(made["token_id"]))["status"] == "settling"
    # The process that answered pays it, or the next round does.
    async with asyncio.timeout(60):
        while (await payments.listed(made["token_id"]))["status"] != "settled":
            await resume_settlements(payments.registry.runtime)
    assert await payments.balances() == ("89.95", "110")


async def test_the_90_seconds_of_a_local_payee_hold_while_payments_before_it_wait_for_the_ledger(
    payments: Payments,
):
    made = await payments.authorized("10")
    await left_settling(payments, made["token_id"], 91)
    async with stalled(payments):
        await end_overdue(payments.registry.runtime)
        listed = await payments.listed(made["token_id"])
        assert (listed["status"], listed["reason"]) == ("failed", "timeout")
    assert await payments.balances() == ("100", "100")


async def test_a_token_captured_by_its_payee_is_reserved_and_settled_by_it_alone(payments: Payments):
    made = await payments.authorized("10", capture_by="payee")
    assert (made["reserved"], await payments.caller.balance()) == (True, "89.95")
    assert refusal(await payments.settle(made["token"]))[:2] == (403, "CAPTURED_BY_PAYEE")
    captured = await payments.settle(made["token"], by=payments.service, wait=10)
    assert (captured.json()["status"], captured.json()["amount"]) == ("settled", "10")
    assert await payments.balances() == ("89.95", "110")


async def test_a_payee_captures_a_part_and_the_rest_goes_back(payments: Payments):
    made = await payments.authorized("10", capture_by="payee")
    captured = await payments.settle(made["token"], by=payments.service, capture_amount="4", wait=10)
    assert captured.json()["amount"] == "4"
    assert await payments.balances() == ("95.98", "104")
    assert (await payments.registry.supply())["delta"] == "0"


async def test_capturing_nothing_releases_and_more_than_the_amount_is_refused(payments: Payments):
    made = await payments.authorized("10", capture_by="payee")
    beyond = await payments.settle(made["token"], by=payments.service, capture_amount="10.00000001")
    assert refusal(beyond)[:2] == (422, "CAPTURE_AMOUNT_REFUSED")
    freed = await payments.settle(made["token"], by=payments.service, capture_amount="0")
    assert freed.json()["status"] == "released"
    assert await payments.caller.balance() == "100"
    plain = await payments.authorized("10")
    assert refusal(await payments.settle(plain["token"], capture_amount="1"))[:2] == (
        422,
        "CAPTURE_AMOUNT_REFUSED",
    )


async def test_the_caller_gives_a_token_of_its_payee_up_until_it_is_verified(payments: Payments):
    unused, used = [await payments.authorized("10", capture_by="payee") for _ in range(2)]
    assert (await payments.settle(unused["token"], success=False)).json()["status"] == "released"
    await payments.verify(used["token"])
    assert (await payments.settle(used["token"], success=False)).status_code == 403
    freed = await payments.settle(used["token"], by=payments.service, success=False)
    assert freed.json()["status"] == "released"
    assert await payments.caller.balance() == "100"


async def test_either_side_releases_an_unused_token_that_its_payee_captures(payments: Payments):
    for by in (payments.caller, payments.service):
        made = await payments.authorized("10", capture_by="payee")
        assert (await payments.release(made["token"], by=by)).json()["status"] == "released"


async def test_only_an_authorized_token_is_released(payments: Payments):
    made = await payments.authorized()
    assert (await payments.release(made["token"], by=payments.service)).status_code == 403
    await payments.verify(made["token"])
    assert refusal(await payments.release(made["token"]))[2] == "Token status: consumed"
    unused = await payments.authorized()
    assert (await payments.release(unused["token"])).json() == {
        "token_id": unused["token_id"],
        "status": "released",
    }
    assert (await payments.release(unused["token"])).status_code == 400


async def test_a_token_is_released_by_its_id_once_for_each_key(payments: Payments):
    made = await payments.authorized()
    path = f"release-by-id/{made['token_id']}"
    first, again = [
        await payments.post(path, payments.caller, None, **{"Idempotency-Key": "one"}) for _ in range(2)
    ]
    assert first.json() == again.json() == {"token_id": made["token_id"], "status": "released"}
    assert (await payments.post(path, payments.caller, None)).status_code == 400
    assert (await payments.post(path, payments.service, None)).status_code == 403
    assert (await payments.post(f"release-by-id/{uuid4()}", payments.caller, None)).status_code == 404


async def test_my_tokens_are_listed_newest_first_without_the_token(payments: Payments):
    made = [await payments.authorized(str(amount)) for amount in (1, 2, 3)]
    await payments.release(made[1]["token"])
    answer = await payments.registry.get("/a2a-payment/my-tokens", headers=payments.caller.headers)
    assert [token["amount"] for token in answer.json()] == ["3", "2", "1"]
    assert "apt_" not in answer.text
    for query, amounts in (("status=authorized", ["3", "1"]), ("status=released", ["2"]), ("limit=1", ["3"])):
        found = await payments.registry.get(
            f"/a2a-payment/my-tokens?{query}", headers=payments.caller.headers
        )
        assert [token["amount"] for token in found.json()] == amounts
    paid = await payments.registry.get("/a2a-payment/my-tokens?role=payee", headers=payments.service.headers)
    assert [token["amount"] for token in paid.json()] == ["3", "2", "1"]
    for query in ("limit=0", "limit=201", "status=unheard", "role=stranger"):
        refused = await payments.registry.get(
            f"/a2a-payment/my-tokens?{query}", headers=payments.caller.headers
        )
        assert refused.status_code == 422


async def test_one_of_my_tokens_is_listed_by_its_id_to_its_caller_and_its_payee_alone(
    payments: Payments, registry: TestRegistry
):
    made, newer = [await payments.authorized(amount) for amount in ("1", "2")]
    await payments.release(made["token"])
    stranger = await Payments.between_two(registry)

    async def listed(by: TestAgent, query: str) -> list[tuple[str, str]]:
        answer = await registry.get(f"/a2a-payment/my-tokens?{query}", headers=by.headers)
        assert answer.status_code == 200, answer.text
        return [(token["token_id"], token["status"]) for token in answer.json()]

    one = f"token_id={made['token_id']}"
    released = [(made["token_id"], "released")]
    assert await listed(payments.caller, "limit=1") == [(newer["token_id"], "authorized")]
    for by, query in (
        (payments.caller, one),
        (payments.caller, f"{one}&limit=1"),
        (payments.caller, f"{one}&status=released"),
        (payments.service, f"{one}&role=payee"),
    ):
        assert await listed(by, query) == released
    for by, query in (
        (payments.caller, f"{one}&status=settled"),
        (payments.caller, f"{one}&role=payee"),
        (payments.service, one),
        (stranger.caller, one),
        (stranger.caller, f"{one}&role=payee"),
        (payments.caller, f"token_id={uuid4()}"),
    ):
        assert await listed(by, query) == []


@pytest.mark.parametrize("token_id", ["", "1", "apt_" + "0" * 64, "8d3c7e1a-5b0e-4f57-9a1c-2f6f0a6e9b1"])
async def test_a_malformed_id_of_a_listed_token_is_refused(payments: Payments, token_id: str):
    answer = await payments.registry.get(
        f"/a2a-payment/my-tokens?token_id={token_id}", headers=payments.caller.headers
    )
    assert answer.status_code == 422
    assert answer.json()["error"]["field"] == "token_id"


async def test_many_tokens_are_settled_in_one_request_and_a_refused_one_hinders_no_other(payments: Payments):
    good, unwanted, foreign = [await payments.authorized("10") for _ in range(3)]
    lines = [
        {"token": good["token"], "task_id": "t"},
        {"token": UNKNOWN},
        {"token": unwanted["token"], "success": False},
    ]
    answer = await payments.post("settle-many", payments.caller, {"tokens": lines}, Prefer="wait=10")
    assert answer.status_code == 200
    done = answer.json()
    assert (done["completed"], done["refused"]) == (2, 1)
    assert [item["status"] for item in done["items"]] == ["completed", "refused", "completed"]
    assert done["items"][0]["answer"]["status"] == "settled"
    assert done["items"][1]["error"]["code"] == "PAYMENT_TOKEN_UNKNOWN"
    assert done["items"][2]["answer"]["status"] == "released"
    assert (await payments.listed(foreign["token_id"]))["status"] == "authorized"
    assert (
        await payments.post("settle-many", payments.caller, {"tokens": lines[:1] * 501})
    ).status_code == 422


async def test_a_token_named_twice_in_one_request_is_paid_once(payments: Payments):
    twice = await payments.authorized("10")
    lines = [{"token": twice["token"]}] * 3
    done = (await payments.post("settle-many", payments.caller, {"tokens": lines}, Prefer="wait=10")).json()
    answers = [item["answer"] for item in done["items"]]
    assert [answer["status"] for answer in answers] == ["settled"] * 3
    assert len({answer["settlement_tx_id"] for answer in answers}) == 1
    assert await payments.balances() == ("89.95", "110")


async def test_a_payee_captures_parts_of_many_tokens_in_one_request(payments: Payments):
    made = [await payments.authorized("10", capture_by="payee") for _ in range(4)]
    parts = ["2.5", "10.00000001", "0", None]
    lines = [{"token": one["token"], "capture_amount": part} for one, part in zip(made, parts, strict=True)]
    answer = await payments.post("settle-many", payments.service, {"tokens": lines}, Prefer="wait=10")
    part, above, nothing, whole = answer.json()["items"]
    assert (part["answer"]["status"], part["answer"]["amount"]) == ("settled", "2.5")
    assert (above["status"], above["error"]["code"]) == ("refused", "CAPTURE_AMOUNT_REFUSED")
    assert nothing["answer"]["status"] == "released"
    assert (whole["answer"]["status"], whole["answer"]["amount"]) == ("settled", "10")
    assert (await payments.service.balance()) == "112.5"


async def test_a_settled_payment_is_an_event_of_both_parties_with_its_fee_and_whether_it_counts(
    payments: Payments,
):
    made = await payments.authorized("10")
    settled = (await payments.settle(made["token"], wait=10, task_id="task-9")).json()
    for did in (payments.caller.did, payments.service.did):
        listed = await payments.registry.get(f"/events/aggregate/{did}", headers=payments.registry.internal)
        [event] = [one for one in listed.json()["items"] if one["event_type"] == "A2APaymentSettled"]
        assert event["data"] == {
            "token_id": made["token_id"],
            "tx_id": int(settled["settlement_tx_id"].removeprefix("tx-")),
            "caller": payments.caller.did,
            "payee": payments.service.did,
            "amount": "10",
            "currency": "AVT",
            "task_id": "task-9",
            "fee": "0.05",
            "counts": True,
        }


async def test_the_events_of_payments_that_settle_together_are_found_under_both_parties(payments: Payments):
    made = [await payments.authorized("1", reserve=number % 2 == 0) for number in range(12)]
    ids = [one["token_id"] for one in made]
    await at_once(*(payments.settle(one["token"], wait=10) for one in made))
    for did in (payments.caller.did, payments.service.did):
        listed = await payments.registry.get(
            f"/events/aggregate/{did}?limit=200", headers=payments.registry.internal
        )
        found, total = listed.json()["items"], listed.json()["pagination"]["total_items"]
        settled = [one for one in found if one["event_type"] == "A2APaymentSettled"]
        assert sorted(one["data"]["token_id"] for one in settled) == sorted(ids)
        moved = {one["data"]["tx_id"]: one for one in found if one["event_type"] == "TokensTransferred"}
        assert {one["data"]["tx_id"] for one in settled} <= moved.keys()
        assert total == len(found)


async def counted(payments: Payments, made: dict[str, Any]) -> list[bool]:
    """Return the `counts` member of each event of this token's settlement."""
    query = {"event_type": "A2APaymentSettled", "sort_order": "desc"}
    listed = await payments.registry.get("/events/", params=query, headers=payments.registry.internal)
    events = [one["data"] for one in listed.json()["items"]]
    return [event["counts"] for event in events if event["token_id"] == made["token_id"]]


async def test_a_payment_between_agents_of_one_owner_does_not_count(payments: Payments):
    developer = await payments.registry.developer()
    own = Payments(payments.registry, await developer.agent(), await developer.agent())
    made = await own.authorized("10")
    await own.settle(made["token"], wait=10)
    assert await counted(own, made) == [False]


@pytest.mark.parametrize("is_payer", [True, False], ids=["payer", "payee"])
async def test_a_payment_with_an_agent_of_an_administrator_does_not_count(
    payments: Payments, *, is_payer: bool
):
    administrator = await payments.registry.administrator("admin_support")
    parties = [await administrator.agent(), payments.service if is_payer else payments.caller]
    own = Payments(payments.registry, *(parties if is_payer else reversed(parties)))
    made = await own.authorized("10")
    await own.settle(made["token"], wait=10)
    assert await counted(own, made) == [False]


@pytest.mark.parametrize(
    ("event_type", "side"),
    [("A2APaymentSettled", "emit_from_teg"), ("ContractCompleted", "emit_from_registry")],
)
async def test_the_events_of_jobs_cannot_be_switched_off(payments: Payments, event_type: str, side: str):
    administrator = await payments.registry.administrator("admin_platform")
    path = f"/api/v1/admin/event-emission-policies/{event_type}"
    answer = await payments.registry.http.put(path, json={side: False}, headers=administrator.headers)
    assert answer.status_code == 409
    assert answer.json()["error"]["code"] == "EMISSION_REQUIRED"
