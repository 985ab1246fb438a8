"""The specification on payment tokens whose payee is an agent of another registry."""

import asyncio
from datetime import date
from uuid import uuid4

import pytest

from hansa.foundation.plumbing.outgoing import HostUnreachable
from hansa.rooms.commerce.payments.settlement_worker import PLACES
from hansa.rooms.federation.mailbox import channel
from hansa.rooms.transfers.crossing.messages import PAYMENT_TOKEN, Body, Message, MessageType
from hansa_verify import read_signal, scores_of
from tests.neighbours.crossing_scene import (
    LostCalls,
    deadlines_pass,
    refusal,
    run,
    said,
    settle,
    written,
)
from tests.neighbours.paying_scene import Abroad, abroad, measure, quiet_after, resumed, spend_abroad
from tests.neighbours.reading_peers import administer, read
from tests.neighbours.two_registries import Neighbours
from tests.rooms.reputation.rated import Rated


async def test_a_settle_pays_the_service_abroad_by_one_transfer_and_no_fee_is_taken_here(pair: Neighbours):
    paying = await abroad(pair)
    made = await paying.authorized("10")
    verdict = await paying.of_service(made["token"], paying.service)
    assert (verdict["valid"], verdict["first_use"], verdict["caller_did"]) == (True, True, paying.caller.did)
    assert (verdict["amount"], verdict["currency"], verdict["caller_status"]) == ("10", "AVT", "active")
    async with quiet_after(pair):
        settled = await paying.settle(made["token"], wait=20, task_id="task 7")
        assert settled.json() == {
            "token_id": made["token_id"],
            "status": "settled",
            "settlement_tx_id": made["token_id"],
            "amount": "10",
            "currency": "AVT",
            "caller_did": paying.caller.did,
            "target_agent_did": paying.service.did,
            "reason": None,
        }
    assert await paying.balances() == ("90", "109.95")
    for party in (paying.caller, paying.service):
        seen = await party.registry.get(f"/teg/transfers/{made['token_id']}", headers=party.headers)
        returned = seen.json()
        assert (returned["state"], returned["amount_received"], returned["message"]) == (
            "committed",
            "9.95",
            "task 7",
        )
    again = await paying.settle(made["token"])
    assert (again.status_code, again.json()["status"]) == (200, "settled")
    assert (await paying.listed(made["token_id"]))["settlement_tx_id"] == made["token_id"]


async def test_a_payment_from_another_registry_counts_where_its_fee_is_paid_and_a_transfer_does_not(
    pair: Neighbours,
):
    paying = await abroad(pair)
    home, elsewhere = Rated(pair.b.registry), Rated(pair.a.registry)
    await spend_abroad(pair.b, pair.a, "40")
    weight = await measure(pair.b, pair.a)
    async with quiet_after(pair):
        for _ in range(2):
            made = await paying.authorized("10")
            settled = await paying.settle(made["token"], wait=20)
            assert settled.json()["status"] == "settled", settled.text
        sent = await paying.registry.post(
            "/teg/send",
            json={"receiver_did": paying.service.did, "amount": "5"},
            headers=paying.caller.headers,
        )
        assert sent.status_code == 200, sent.text
    for rated in (home, elsewhere):
        await rated.compute()
    record = await home.track_record(paying.service.did)
    assert (record["jobs_verified"], record["jobs_foreign"], record["volume"]) == (1, 1, "19.9")
    assert (record["mark"], record["contracts_completed"]) == ("Proven", 0)
    # Another registry can forge a record with the units of others: its fees replace no bond.
    fees = "SELECT fees FROM reputation_record WHERE agent_did = $1"
    assert await home.registry.database.query(lambda tx: tx.fetchval(fees, paying.service.did)) == 0
    reputation = await home.reputation(paying.service.did)
    # Two fees of 0.05 units, of which 11 of 12 parts count, at the least weight of a payer: times 5/8 x 1/4, less the decay of a day.
    assert weight == 917
    work = next(one for one in reputation["components"] if one["name"] == "paid_work")
    assert work["amount"] == "0.01421819"
    assert reputation["score"] == 2
    exported = await home.exported()
    counted = [one for one in exported["events"] if one["event_type"] == "CrossRegistryTransferCompleted"]
    assert [one["data"] for one in counted if one["data"]["receiver_did"] == paying.service.did] == [
        {
            "sender_did": paying.caller.did,
            "receiver_did": paying.service.did,
            "fee": "0.04585",
            "counts": True,
        }
    ] * 2
    signals = [signal for signal in map(read_signal, exported["events"]) if signal]
    found = scores_of(signals, date.fromisoformat(exported["epoch"]))
    assert found[paying.service.did].score == reputation["score"]
    # The payer's registry took no fee: it knows of the payment, which is no evidence there.
    assert (await elsewhere.reputation(paying.caller.did))["score"] == 0
    noted = [
        one
        for one in (await elsewhere.exported())["events"]
        if one["data"].get("payee") == paying.service.did
    ]
    assert [(one["data"]["counts"], one["data"]["fee"]) for one in noted] == [(False, "0")] * 2


async def test_a_payment_from_another_registry_to_an_agent_of_an_administrator_does_not_count(
    pair: Neighbours,
):
    administrator = await pair.b.registry.administrator("admin_treasury")
    paying = Abroad(pair.a.registry, await pair.a.registry.agent(), await administrator.agent())
    made = await paying.authorized("10")
    await paying.settle(made["token"], wait=20)
    await settle(pair.a, pair.b)
    home = Rated(pair.b.registry)
    await home.follow()
    assert (await home.track_record(paying.service.did))["volume"] == "0"


async def test_both_parties_statements_name_the_other_registry(pair: Neighbours):
    paying = await abroad(pair)
    made = await paying.authorized("10")
    await paying.settle(made["token"], wait=20)
    await settle(pair.a, pair.b)
    for party, registry, other in (
        (paying.caller, "b.example", paying.service),
        (paying.service, "a.example", paying.caller),
    ):
        lines = (await party.registry.get("/teg/transactions", headers=party.headers)).json()["items"]
        assert (lines[0]["counterparty_registry"], lines[0]["counterparty"]) == (registry, other.did)


async def test_without_prefer_the_answer_is_settling_and_the_outcome_follows(pair: Neighbours):
    paying = await abroad(pair)
    made = await paying.authorized("10")
    async with quiet_after(pair):
        first = await paying.settle(made["token"])
        assert (first.status_code, first.json()["status"], first.json()["settlement_tx_id"]) == (
            200,
            "settling",
            None,
        )
        assert (await paying.ended(made["token_id"]))["status"] == "settled"
    assert await paying.balances() == ("90", "109.95")


async def test_of_many_settles_at_once_one_pays_and_all_get_its_outcome(pair: Neighbours):
    paying = await abroad(pair)
    made = await paying.authorized("10")
    async with quiet_after(pair):
        answers = await asyncio.gather(*(paying.settle(made["token"], wait=20) for _ in range(10)))
        assert {(one.status_code, one.json()["status"]) for one in answers} == {(200, "settled")}
    assert await paying.balances() == ("90", "109.95")


async def test_the_settlement_is_an_event_and_a_receipt_that_name_the_transfer(pair: Neighbours):
    paying = await abroad(pair)
    made = await paying.authorized("10")
    await paying.settle(made["token"], wait=20)
    await paying.registry.transactions_ended()
    found = await paying.registry.get("/agents/me/events?limit=1000", headers=paying.caller.headers)
    (event,) = [one for one in found.json()["items"] if one["event_type"] == "A2APaymentSettled"]
    returned = event["data"]
    assert (returned["token_id"], returned["transfer_id"], returned["fee"]) == (
        made["token_id"],
        made["token_id"],
        "0",
    )
    assert returned["counts"] is False
    page = await paying.registry.http.get(f"/pay/{made['token_id']}", headers={"Accept": "application/json"})
    assert (page.json()["settlement_tx_id"], page.json()["fee"]) == (made["token_id"], "0")


@pytest.mark.parametrize(
    ("name", "reason"), [("b.example", "payee_unknown"), ("far.example", "receiver_registry_unknown")]
)
async def test_what_cannot_be_paid_fails_with_its_reason_and_nothing_moves(
    pair: Neighbours, name: str, reason: str
):
    paying = await abroad(pair)
    made = await paying.authorized("10", target_agent_did=f"did:hansa:{name}:{uuid4()}")
    async with quiet_after(pair):
        failed = await paying.settle(made["token"], wait=20)
        assert (failed.json()["status"], failed.json()["reason"]) == ("failed", reason)
    assert await paying.caller.balance() == "100"
    assert await refusal(await paying.settle(made["token"])) == (400, "PAYMENT_TOKEN_STATUS")


async def test_a_suspended_party_on_either_side_is_not_paid(pair: Neighbours):
    for side in (pair.a, pair.b):
        paying = await abroad(pair)
        made = await paying.authorized("10")
        await administer(side, "suspend", paying.caller.did if side is pair.a else paying.service.did)
        async with quiet_after(pair):
            await run(
                pair.a,
                "UPDATE commerce_payment_token SET status = 'settling', settling_at = now() WHERE id = $1",
                made["token_id"],
            )
            await resumed(paying)
            await settle(pair.a, pair.b)
            assert await status_of(pair, made["token_id"]) == ("failed", "party_suspended")


async def status_of(pair: Neighbours, token_id: str) -> tuple[str, str | None]:
    row = await pair.a.registry.database.query(
        lambda tx: tx.fetchrow("SELECT status, reason FROM commerce_payment_token WHERE id = $1", token_id)
    )
    assert row is not None
    return row["status"], row["reason"]


async def test_a_payer_that_is_suspended_after_the_peer_prepared_pays_nothing(
    pair: Neighbours, calls: LostCalls
):
    """The sender judges a last time before it records COMMIT."""
    paying = await abroad(pair)
    made = await paying.authorized("10")
    calls.loses = lambda number: "answer" if number == 1 else None
    assert (await paying.settle(made["token"], wait=1)).json()["status"] == "settling"
    await administer(pair.a, "suspend", paying.caller.did)
    async with quiet_after(pair):
        await settle(pair.a, pair.b)
        assert await status_of(pair, made["token_id"]) == ("failed", "party_suspended")


@pytest.mark.parametrize("lost", ["request", "answer"])
async def test_an_outcome_that_is_not_known_is_settling_and_a_late_success_settles_once(
    pair: Neighbours, calls: LostCalls, lost: str
):
    paying = await abroad(pair)
    made = await paying.authorized("10")
    calls.loses = lambda number: lost if number == 1 else None
    async with quiet_after(pair):
        unknown = await paying.settle(made["token"], wait=1)
        assert (unknown.status_code, unknown.json()["status"]) == (200, "settling")
        assert await refusal(await paying.settle(made["token"])) == (409, "SETTLEMENT_IN_PROGRESS")
        assert await refusal(await paying.release(made["token"])) == (400, "PAYMENT_TOKEN_STATUS")
        await settle(pair.a, pair.b)
        assert (await paying.settle(made["token"])).json()["status"] == "settled"
    assert await paying.balances() == ("90", "109.95")


async def test_without_a_decision_in_90_seconds_it_fails_and_what_comes_late_is_refused(
    pair: Neighbours, calls: LostCalls
):
    paying = await abroad(pair)
    made = await paying.authorized("10")
    calls.loses = lambda number: "answer" if number == 1 else None
    await paying.settle(made["token"], wait=1)
    seconds = await pair.a.registry.database.query(
        lambda tx: tx.fetchval(
            "SELECT extract(epoch FROM s.deadline - t.settling_at)::float FROM transfers_sent s"
            " JOIN commerce_payment_token t ON t.id = s.transfer_id WHERE t.id = $1",
            made["token_id"],
        )
    )
    assert 85 < seconds < 95
    await deadlines_pass(pair.a)
    async with quiet_after(pair):
        await settle(pair.a, pair.b)
        assert await status_of(pair, made["token_id"]) == ("failed", "timeout")
    assert await paying.balances() == ("100", "100")


@pytest.mark.parametrize(
    ("code", "reason"),
    [("\u0130" * 64, "refused"), ("\x1b[31mrefused", "refused"), ("X" * 64, "x" * 64)],
    ids=["longer_in_lower_case", "control_characters", "unknown"],
)
async def test_whatever_code_a_peer_refuses_with_the_token_fails_at_once_and_nothing_moves(
    pair: Neighbours, calls: LostCalls, code: str, reason: str
):
    paying = await abroad(pair)
    made = await paying.authorized("10")
    calls.loses = lambda number: "request" if number == 1 else None
    await paying.settle(made["token"], wait=1)
    body = Body(
        made["token_id"], paying.caller.did, paying.service.did, 10 * 10**8, "AVT", purpose=PAYMENT_TOKEN
    )
    refused = await written(pair.b, pair.a, Message(MessageType.REFUSED, body, code=code))
    await said(pair.b, pair.a, refused)
    failed = await paying.settle(made["token"], wait=1)
    assert (failed.json()["status"], failed.json()["reason"]) == ("failed", reason)
    assert await paying.caller.balance() == "100"


async def test_the_deadline_is_met_although_the_peer_stays_silent(pair: Neighbours, calls: LostCalls):
    paying = await abroad(pair)
    made = await paying.authorized("10")
    calls.loses = lambda _: "request"
    await paying.settle(made["token"], wait=1)
    await deadlines_pass(pair.a)
    await settle(pair.a, rounds=1)
    assert await status_of(pair, made["token_id"]) == ("failed", "timeout")
    assert await paying.caller.balance() == "100"
    calls.loses = lambda _: None
    async with quiet_after(pair):
        pass


async def test_a_process_that_ends_right_after_its_answer_leaves_the_token_to_another(pair: Neighbours):
    paying = await abroad(pair)
    made = await paying.authorized("10")
    left = "UPDATE commerce_payment_token SET status = 'settling', settling_at = now() WHERE id = $1"
    await run(pair.a, left, made["token_id"])
    async with quiet_after(pair):
        await resumed(paying)
        await settle(pair.a, pair.b)
        assert await status_of(pair, made["token_id"]) == ("settled", None)
        # What is taken up again finds nothing to do.
        await run(pair.a, "UPDATE plumbing_job SET due_at = now()")
        await resumed(paying)
    assert await paying.balances() == ("90", "109.95")


async def test_payments_to_a_silent_peer_hinder_none_that_a_process_left_behind_them(
    pair: Neighbours, calls: LostCalls, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("hansa.rooms.commerce.payments.settlement_worker.AT_ONCE", 2)
    paying = await abroad(pair)
    local = await pair.a.registry.agent()
    made = [
        await paying.authorized("1", **({"target_agent_did": local.did} if number == 5 else {}))
        for number in range(6)
    ]
    calls.loses = lambda _: "request"
    left = (
        "UPDATE commerce_payment_token SET status = 'settling', settling_at = clock_timestamp() WHERE id = $1"
    )
    for one in made:
        await run(pair.a, left, one["token_id"])
    await resumed(paying)
    assert await status_of(pair, made[-1]["token_id"]) == ("settled", None)
    assert calls.made == 0
    calls.loses = lambda _: None
    async with quiet_after(pair):
        await settle(pair.a, pair.b)
        for one in made:
            assert await status_of(pair, one["token_id"]) == ("settled", None)


async def test_a_local_payment_does_not_wait_for_those_to_a_silent_peer(
    pair: Neighbours, monkeypatch: pytest.MonkeyPatch
):
    speaks = asyncio.Event()

    async def silent(*_: object, **__: object) -> None:
        await speaks.wait()
        raise HostUnreachable

    paying = await abroad(pair)
    local = await pair.a.registry.agent()
    unpaid = await paying.authorized("60", target_agent_did=local.did)
    across = [await paying.authorized("1") for _ in range(PLACES)]
    assert (await paying.caller.transfer(local, "60")).status_code == 200
    with monkeypatch.context() as patch:
        patch.setattr(channel, "call_peer", silent)
        for one in across:
            assert (await paying.settle(one["token"])).json()["status"] == "settling"
        failed = await paying.settle(unpaid["token"], wait=10)
        assert (failed.json()["status"], failed.json()["reason"]) == ("failed", "insufficient_balance")
    speaks.set()
    async with quiet_after(pair):
        await settle(pair.a, pair.b)


async def test_a_decision_ends_the_wait_although_the_first_request_to_the_peer_has_no_answer_yet(
    pair: Neighbours, monkeypatch: pytest.MonkeyPatch
):
    asked, speaks = asyncio.Event(), asyncio.Event()

    async def silent(*_: object, **__: object) -> None:
        asked.set()
        await speaks.wait()
        raise HostUnreachable

    paying = await abroad(pair)
    made = await paying.authorized("10")
    with monkeypatch.context() as patch:
        patch.setattr(channel, "call_peer", silent)
        waiting = asyncio.create_task(paying.settle(made["token"], wait=30))
        await asked.wait()
    async with quiet_after(pair), asyncio.timeout(20):
        await settle(pair.a, pair.b)
        assert (await waiting).json()["status"] == "settled"
    speaks.set()


async def test_what_was_never_reserved_in_90_seconds_fails(pair: Neighbours):
    paying = await abroad(pair)
    made = await paying.authorized("10")
    left = (
        "UPDATE commerce_payment_token SET status = 'settling', settling_at = now() - interval '91 seconds'"
        " WHERE id = $1"
    )
    await run(pair.a, left, made["token_id"])
    await resumed(paying)
    assert await status_of(pair, made["token_id"]) == ("failed", "timeout")
    assert await paying.caller.balance() == "100"


async def test_the_callers_budget_is_given_back_when_nothing_is_paid(pair: Neighbours):
    owner = await pair.a.registry.developer()
    paying = Abroad(pair.a.registry, await owner.agent(), await pair.b.registry.agent())
    policy = {"spend_policy": {"per_day_max": "10"}}
    answer = await pair.a.registry.http.put(
        f"/api/v1/agents/{paying.caller.did}/authz", json=policy, headers=owner.headers
    )
    assert answer.status_code == 200, answer.text
    unknown = f"did:hansa:b.example:{uuid4()}"
    async with quiet_after(pair):
        for _ in range(2):
            made = await paying.authorized("10", target_agent_did=unknown)
            assert (await paying.settle(made["token"], wait=20)).json()["status"] == "failed"
        paid = await paying.authorized("10")
        assert (await paying.settle(paid["token"], wait=20)).json()["status"] == "settled"
        assert (await paying.ask("1")).status_code == 403


async def test_a_commit_that_a_restored_registry_forgot_settles_the_token_and_pays_once(pair: Neighbours):
    await settle(pair.a, pair.b)
    paying = await abroad(pair)
    made = await paying.authorized("10")
    # This registry committed the transfer of the token; then it was restored from before the settle, and the token expired.
    parties = (paying.caller.did, paying.service.did)
    body = Body(made["token_id"], *parties, 10 * 10**8, "AVT", purpose=PAYMENT_TOKEN)
    prepare = await written(pair.a, pair.b, Message(MessageType.PREPARE, body))
    (promise,) = await said(pair.a, pair.b, prepare)
    commit = Message(MessageType.COMMIT, body, net=promise.net, fee=promise.fee, proof=promise)
    await said(pair.a, pair.b, await written(pair.a, pair.b, commit))
    await paying.past_expiry(made["token_id"])
    assert await refusal(await paying.settle(made["token"])) == (400, "PAYMENT_TOKEN_EXPIRED")
    assert await paying.balances() == ("100", "109.95")
    async with quiet_after(pair):
        # The receipt of the payee's registry bears this registry's own COMMIT.
        await settle(pair.b, pair.a)
        assert await status_of(pair, made["token_id"]) == ("settled", None)
    assert await paying.balances() == ("90", "109.95")


async def test_a_quote_abroad_states_what_the_payee_receives_and_can_be_raised_to_its_price(pair: Neighbours):
    service = await pair.b.registry.agent(pricing={"base_rate": "10"})
    caller = await pair.a.registry.agent()
    await read(pair.a, pair.b)

    async def quoted(**query: str) -> tuple[str, str, str, str]:
        params = {"target_agent_did": service.did, **query}
        answer = await pair.a.registry.get("/a2a-payment/quote", params=params, headers=caller.headers)
        assert answer.status_code == 200, answer.text
        returned = answer.json()
        return returned["price"], returned["amount"], returned["amount_received"], returned["fee"]

    assert await quoted() == ("10", "10", "9.95", "0")
    assert await quoted(gross_up="true") == ("10", "10.05025126", "10", "0")
    assert await quoted(amount="1", gross_up="true") == ("10", "1.00502513", "1", "0")
    firm = await pair.a.registry.get(
        "/a2a-payment/quote",
        params={"target_agent_did": service.did, "firm": "true"},
        headers=caller.headers,
    )
    assert await refusal(firm) == (422, "QUOTE_NOT_FIRM")


async def test_units_are_not_reserved_for_a_payee_abroad(pair: Neighbours):
    paying = await abroad(pair)
    for how in ({"reserve": True}, {"capture_by": "payee"}):
        assert await refusal(await paying.ask("10", **how)) == (422, "RESERVE_NOT_POSSIBLE")
