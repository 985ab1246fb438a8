"""Spend policies: payments that an owner permits an agent, and requests that the owner decides."""

import asyncio
import itertools
import json
from uuid import uuid4

import pytest

from hansa.rooms.agents.spending import forget_approvals
from hansa.rooms.journal.store import COLUMNS, stored
from hansa.rooms.notifications import OWNER_NOTICES
from tests.founded import open_copy
from tests.registry import at_once

STRANGER = "did:hansa:hansa.local:nobody"


@pytest.fixture(scope="module")
async def registry(database_farm, tmp_path_factory):
    """One for all: every test speaks of agents of its own."""
    async with open_copy(database_farm, tmp_path_factory.mktemp("policies")) as opened:
        yield opened


@pytest.fixture
async def owner(registry):
    return await registry.developer()


@pytest.fixture
async def payer(owner):
    return await owner.agent(name="Payer")


@pytest.fixture
async def payee(registry):
    return await registry.agent(name="Payee")


async def put(owner, agent, **members):
    return await owner.registry.http.put(
        f"/api/v1/agents/{agent.did}/authz", json=members, headers=owner.headers
    )


async def govern(owner, agent, **policy):
    answer = await put(owner, agent, spend_policy=policy)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def authz(owner, agent):
    return (await owner.registry.get(f"/agents/{agent.did}/authz", headers=owner.headers)).json()


async def pay(agent, payee, amount, *, approval=None, key=None, route="/teg/transfer", **members):
    headers = dict(agent.headers)
    if approval is not None:
        headers["X-Spend-Approval"] = str(approval)
    if key is not None:
        headers["Idempotency-Key"] = key
    receiver = {"/teg/transfer": "receiver_agent_id", "/teg/send": "receiver_did"}[route]
    body = {receiver: getattr(payee, "did", payee), "amount": amount, **members}
    return await agent.registry.post(route, json=body, headers=headers)


async def decide(owner, agent, approval, word):
    path = f"/agents/{agent.did}/spend-approvals/{approval}/{word}"
    return await owner.registry.post(path, headers=owner.headers)


async def approvals(owner, agent, **query):
    path = f"/agents/{agent.did}/spend-approvals"
    return await owner.registry.get(path, params=query, headers=owner.headers)


async def asked(agent, payee, amount):
    """The id of the approval that a payment asks for."""
    answer = await pay(agent, payee, amount)
    assert answer.status_code == 202, answer.text
    return answer.json()["approval_id"]


async def run(registry, statement, *values):
    return await registry.database.transaction(lambda tx: tx.execute(statement, *values))


OF_AGENT = "agent_id = (SELECT id FROM agents_agent WHERE did = $1)"


async def elapse(agent, hours):
    """Make the approvals requested of the owner so far older by so many hours."""
    await run(
        agent.registry,
        "UPDATE agents_spend_approval SET created_at = created_at - make_interval(secs => $2),"
        f" expires_at = expires_at - make_interval(secs => $2) WHERE {OF_AGENT}",
        agent.did,
        hours * 3600.0,
    )


async def days_pass(agent, days):
    await run(
        agent.registry, f"UPDATE agents_spending SET day = day - $2::int WHERE {OF_AGENT}", agent.did, days
    )


def code(answer):
    return answer.status_code, answer.json()["error"]["code"]


async def test_an_agent_without_a_policy_pays_what_it_holds(owner, payer, payee):
    shown = await authz(owner, payer)
    assert (shown["spend_policy"], shown["spent_today"]) == (None, None)
    assert (await pay(payer, payee, "90")).status_code == 200


async def test_the_owner_reads_the_policy_it_put(owner, payer, payee):
    policy = {"per_tx_max": "10", "per_day_max": "50.5", "allowlist": [payee.did], "approval_over": "5"}
    assert (await govern(owner, payer, **policy))["spend_policy"] == policy
    shown = await authz(owner, payer)
    assert (shown["spend_policy"], shown["spent_today"]) == (policy, "0")
    assert shown["roles"] == ["trader", "client"]
    partly = await govern(owner, payer, per_tx_max="7")
    assert partly["spend_policy"] == {
        "per_tx_max": "7",
        "per_day_max": None,
        "allowlist": None,
        "approval_over": None,
    }


async def test_a_put_replaces_the_roles_and_leaves_out_what_it_does_not_name(owner, payer):
    await govern(owner, payer, per_tx_max="10")
    answer = await put(owner, payer, roles=["staker", "client", "staker"])
    assert answer.json()["roles"] == ["staker", "client"]
    assert answer.json()["spend_policy"]["per_tx_max"] == "10"
    nothing = await put(owner, payer)
    assert nothing.json() == answer.json()
    assert (await put(owner, payer, roles=[])).json()["roles"] == []
    free = await put(owner, payer, spend_policy=None)
    assert (free.json()["roles"], free.json()["spend_policy"]) == ([], None)


async def test_what_was_read_can_be_put_back(owner, payer, payee):
    await govern(owner, payer, per_tx_max="10", allowlist=[payee.did])
    shown = await authz(owner, payer)
    assert (await put(owner, payer, **shown)).json() == shown


@pytest.mark.parametrize(
    "members",
    [
        {"roles": ["admin"]},
        {"roles": "trader"},
        {"spend_policy": {"per_tx_max": 10}},
        {"spend_policy": {"per_tx_max": "-1"}},
        {"spend_policy": {"per_day_max": "1e3"}},
        {"spend_policy": {"approval_over": "10000000001"}},
        {"spend_policy": {"allowlist": [""]}},
        {"spend_policy": {"allowlist": "did:hansa:x"}},
        {"spend_policy": {"per_tx_limit": "10"}},
        {"spend_policy": {"allowlist": [f"did:hansa:{number}" for number in range(1001)]}},
    ],
)
async def test_a_policy_that_is_not_understood_is_refused_whole(owner, payer, members):
    assert (await put(owner, payer, **{"roles": ["staker"], **members})).status_code == 422
    shown = await authz(owner, payer)
    assert (shown["roles"], shown["spend_policy"]) == (["trader", "client"], None)


async def test_only_the_owner_replaces_the_rights_of_an_agent(registry, owner, payer):
    stranger = await registry.developer()
    assert code(await put(stranger, payer, roles=[])) == (403, "NOT_THE_OWNER")
    assert code(await put(owner, await registry.agent(), roles=[])) == (403, "NOT_THE_OWNER")
    path = f"/api/v1/agents/{STRANGER}/authz"
    assert (await registry.http.put(path, json={}, headers=owner.headers)).status_code == 404
    own = await registry.http.put(
        f"/api/v1/agents/{payer.did}/authz", json={"roles": ["governor"]}, headers=payer.headers
    )
    assert own.status_code == 401
    assert (await authz(owner, payer))["roles"] == ["trader", "client"]


async def test_the_rights_of_a_revoked_agent_are_not_replaced(registry, owner, payer):
    await run(registry, "UPDATE agents_agent SET status = 'revoked' WHERE did = $1", payer.did)
    assert code(await put(owner, payer, roles=[])) == (409, "AGENT_REVOKED")


async def test_rights_replaced_at_the_same_moment_do_not_mix(owner, payer):
    wanted = [(["staker"], "1"), (["governor"], "2"), (["client"], "3")] * 3
    answers = await at_once(
        *(put(owner, payer, roles=roles, spend_policy={"per_tx_max": most}) for roles, most in wanted)
    )
    assert {answer.status_code for answer in answers} == {200}
    shown = await authz(owner, payer)
    assert (shown["roles"], shown["spend_policy"]["per_tx_max"]) in wanted
    assert all(
        (returned.json()["roles"], returned.json()["spend_policy"]["per_tx_max"]) in wanted
        for returned in answers
    )


@pytest.mark.parametrize("route", ["/teg/transfer", "/teg/send"])
async def test_a_payment_over_the_most_at_once_is_refused(owner, payer, payee, route):
    await govern(owner, payer, per_tx_max="10")
    refused = await pay(payer, payee, "10.00000001", route=route)
    assert code(refused) == (403, "SPEND_OVER_PER_TX_MAX")
    assert refused.json()["error"]["context"] == {"per_tx_max": "10"}
    assert (await pay(payer, payee, "10", route=route)).status_code == 200
    assert await payee.balance() == "110"


async def test_the_payments_of_a_day_are_counted_together_without_their_fees(owner, payer, payee):
    await govern(owner, payer, per_day_max="30")
    assert (await pay(payer, payee, "20")).status_code == 200
    refused = await pay(payer, payee, "10.5", route="/teg/send")
    assert code(refused) == (403, "SPEND_OVER_PER_DAY_MAX")
    assert refused.json()["error"]["context"] == {"per_day_max": "30", "left_today": "10"}
    assert (await pay(payer, payee, "10", route="/teg/send")).status_code == 200
    assert (await authz(owner, payer))["spent_today"] == "30"


async def test_yesterday_does_not_count_today(registry, owner, payer, payee):
    await govern(owner, payer, per_day_max="30")
    await pay(payer, payee, "30")
    assert (await pay(payer, payee, "1")).status_code == 403
    await days_pass(payer, 1)
    assert (await pay(payer, payee, "30")).status_code == 200


async def test_a_policy_put_anew_does_not_forget_what_was_paid_today(owner, payer, payee):
    await govern(owner, payer, per_day_max="30")
    await pay(payer, payee, "30")
    await put(owner, payer, spend_policy=None)
    await govern(owner, payer, per_day_max="40")
    assert (await pay(payer, payee, "11")).status_code == 403
    assert (await pay(payer, payee, "10")).status_code == 200


async def test_a_payment_that_the_ledger_refuses_is_not_counted(owner, payer, payee):
    await govern(owner, payer, per_day_max="150")
    assert (await pay(payer, payee, "120")).status_code == 402
    assert (await pay(payer, STRANGER, "1")).status_code == 404
    assert (await pay(payer, payer, "1")).status_code == 400
    assert (await authz(owner, payer))["spent_today"] == "0"


async def test_parallel_payments_never_pass_the_limit_of_the_day(registry, owner, payer, payee):
    await govern(owner, payer, per_day_max="35")
    answers = await at_once(*(pay(payer, payee, "10") for _ in range(12)))
    assert sorted(answer.status_code for answer in answers) == [200] * 3 + [403] * 9
    assert await payee.balance() == "130"
    assert (await authz(owner, payer))["spent_today"] == "30"
    assert (await registry.supply())["delta"] == "0"


async def test_only_receivers_on_the_allowlist_are_paid(registry, owner, payer, payee):
    other = await registry.agent()
    await govern(owner, payer, allowlist=[payee.did])
    assert code(await pay(payer, other, "1")) == (403, "SPEND_PAYEE_NOT_ALLOWED")
    assert code(await pay(payer, STRANGER, "1")) == (403, "SPEND_PAYEE_NOT_ALLOWED")
    assert (await pay(payer, payee, "1")).status_code == 200
    await govern(owner, payer, allowlist=[])
    assert code(await pay(payer, payee, "1")) == (403, "SPEND_PAYEE_NOT_ALLOWED")


async def test_a_policy_counts_at_the_next_payment_and_so_does_its_end(owner, payer, payee):
    assert (await pay(payer, payee, "20")).status_code == 200
    await govern(owner, payer, per_tx_max="0")
    assert (await pay(payer, payee, "0.00000001")).status_code == 403
    await put(owner, payer, spend_policy=None)
    assert (await pay(payer, payee, "20")).status_code == 200


async def test_a_policy_binds_no_other_agent_of_the_owner(registry, owner, payer, payee):
    other = await owner.agent(name="Other")
    await govern(owner, payer, per_tx_max="1")
    assert (await pay(payee, other, "50")).status_code == 200
    assert (await pay(other, payee, "20")).status_code == 200


async def test_a_governed_payment_repeated_under_its_key_counts_once(owner, payer, payee):
    await govern(owner, payer, per_day_max="30")
    first = await pay(payer, payee, "20", key="k")
    again = await pay(payer, payee, "20", key="k")
    assert (first.status_code, again.status_code) == (200, 200)
    assert (again.text, again.headers["Idempotent-Replayed"]) == (first.text, "true")
    assert code(await pay(payer, payee, "21", key="k")) == (422, "IDEMPOTENCY_KEY_REUSED")
    assert (await authz(owner, payer))["spent_today"] == "20"


async def test_a_repeat_across_the_start_and_the_end_of_a_policy_is_the_same_payment(owner, payer, payee):
    first = await pay(payer, payee, "20", key="k")
    await govern(owner, payer, per_tx_max="1")
    again = await pay(payer, payee, "20", key="k")
    assert (again.status_code, again.text) == (200, first.text)
    assert await payee.balance() == "120"
    second = await pay(payer, payee, "1", key="k2")
    await put(owner, payer, spend_policy=None)
    again = await pay(payer, payee, "1", key="k2")
    assert (again.text, again.headers["Idempotent-Replayed"]) == (second.text, "true")


async def test_a_refused_payment_leaves_its_key_free(owner, payer, payee):
    await govern(owner, payer, per_tx_max="5")
    assert (await pay(payer, payee, "6", key="k")).status_code == 403
    assert (await pay(payer, payee, "5", key="k")).status_code == 200


async def test_a_dry_run_returns_what_the_policy_would_say_and_counts_nothing(registry, owner, payer, payee):
    await govern(owner, payer, per_tx_max="10", approval_over="5")

    async def planned(amount):
        body = {"receiver_did": payee.did, "amount": amount, "dry_run": True}
        return await registry.post("/teg/send", json=body, headers=payer.headers)

    assert "approve" not in (await planned("5")).json()["detail"]
    assert "approve" in (await planned("6")).json()["detail"]
    assert code(await planned("11")) == (403, "SPEND_OVER_PER_TX_MAX")
    assert (await authz(owner, payer))["spent_today"] == "0"
    assert (await approvals(owner, payer)).json()["items"] == []


async def test_a_payment_over_what_the_agent_may_alone_waits_for_its_owner(owner, payer, payee):
    await govern(owner, payer, approval_over="5")
    answer = await pay(payer, payee, "6")
    assert answer.status_code == 202
    returned = answer.json()
    assert {name: returned[name] for name in ("status", "receiver_did", "amount", "currency")} == {
        "status": "pending",
        "receiver_did": payee.did,
        "amount": "6",
        "currency": "AVT",
    }
    assert await payee.balance() == "100"
    (waiting,) = (await approvals(owner, payer)).json()["items"]
    assert (waiting["approval_id"], waiting["status"]) == (returned["approval_id"], "pending")
    assert (await pay(payer, payee, "5")).status_code == 200


async def test_the_owners_webhooks_are_notified_that_a_payment_waits(registry, owner, payer, payee):
    body = {"url": "https://receiver.example.com/hook", "event_types": ["agent.approval_requested"]}
    hook = (await registry.post("/developers/webhooks", json=body, headers=owner.headers)).json()
    await govern(owner, payer, approval_over="5")
    waiting = (await pay(payer, payee, "6")).json()
    assert (await pay(payer, payee, "6")).status_code == 202
    events = await registry.database.read(
        lambda tx: tx.fetch(
            f"SELECT {COLUMNS} FROM journal_event WHERE event_type = 'SpendApprovalRequested' AND aggregate_id = $1",
            payer.did,
        )
    )
    (event,) = stored(events)
    await registry.database.transaction(lambda tx: OWNER_NOTICES.react(tx, event))
    returned = await registry.database.read(
        lambda tx: tx.fetchval(
            "SELECT payload::text FROM notifications_webhook_delivery WHERE webhook_id = $1", hook["id"]
        )
    )
    data = json.loads(returned)["data"]
    assert (data["did"], data["approval_id"]) == (payer.did, waiting["approval_id"])
    assert (data["receiver"], data["amount"], data["currency"]) == (payee.did, "6", "AVT")


async def test_an_approved_payment_is_made_once_when_the_agent_repeats_it(registry, owner, payer, payee):
    await govern(owner, payer, approval_over="5")
    approval = await asked(payer, payee, "6")
    approved = await decide(owner, payer, approval, "approve")
    assert (approved.status_code, approved.json()["status"]) == (200, "approved")
    assert (await pay(payer, payee, "6")).status_code == 202
    assert (await pay(payer, payee, "6", approval=approval)).status_code == 200
    again = await pay(payer, payee, "6", approval=approval)
    assert code(again) == (409, "SPEND_APPROVAL_UNUSABLE")
    assert again.json()["error"]["context"] == {"status": "used"}
    assert await payee.balance() == "106"
    used = (await approvals(owner, payer, status="approved")).json()["items"][0]
    assert used["used_at"] is not None
    assert (await authz(owner, payer))["spent_today"] == "6"


async def test_the_same_payment_is_asked_about_once_while_the_owner_thinks(owner, payer, payee):
    await govern(owner, payer, approval_over="5")
    ids = {
        answer.json()["approval_id"] for answer in await at_once(*(pay(payer, payee, "6") for _ in range(6)))
    }
    assert len(ids) == 1
    assert await asked(payer, payee, "7") not in ids
    assert (await approvals(owner, payer)).json()["pagination"]["total_items"] == 2


async def test_a_payment_that_waits_leaves_its_key_free_for_the_approved_one(owner, payer, payee):
    await govern(owner, payer, approval_over="5")
    waiting = await pay(payer, payee, "6", key="k")
    assert waiting.status_code == 202
    approval = waiting.json()["approval_id"]
    await decide(owner, payer, approval, "approve")
    paid = await pay(payer, payee, "6", key="k", approval=approval)
    assert paid.status_code == 200
    again = await pay(payer, payee, "6", key="k", approval=approval)
    assert (again.text, again.headers["Idempotent-Replayed"]) == (paid.text, "true")
    assert await payee.balance() == "106"


@pytest.mark.parametrize("route", ["/teg/transfer", "/teg/send"])
async def test_an_approval_is_named_in_the_body_as_well_as_in_the_header(owner, payer, payee, route):
    await govern(owner, payer, approval_over="5")
    approval = await asked(payer, payee, "6")
    await decide(owner, payer, approval, "approve")
    other = "00000000-0000-4000-8000-000000000000"
    both = await pay(payer, payee, "6", approval=other, approval_id=approval, route=route)
    assert both.status_code == 422
    assert (await pay(payer, payee, "6", approval_id=None, route=route)).status_code == 202
    paid = await pay(payer, payee, "6", approval_id=approval, key="k", route=route)
    assert paid.status_code == 200
    for again in (
        await pay(payer, payee, "6", approval_id=approval, key="k", route=route),
        await pay(payer, payee, "6", key="k", route=route),
    ):
        assert (again.text, again.headers["Idempotent-Replayed"]) == (paid.text, "true")
    assert await payee.balance() == "106"


@pytest.mark.parametrize("first_key", ["k", None])
async def test_a_call_repeated_under_its_key_finds_the_same_approval_and_pays_with_it(
    owner, payer, payee, first_key
):
    await govern(owner, payer, approval_over="5")
    approval = (await pay(payer, payee, "6", key=first_key)).json()["approval_id"]
    waiting = await pay(payer, payee, "6", key="k")
    assert (waiting.status_code, waiting.json()["approval_id"]) == (202, approval)
    await decide(owner, payer, approval, "approve")
    answers = await at_once(*(pay(payer, payee, "6", key="k") for _ in range(4)))
    assert {answer.status_code for answer in answers} <= {200, 422}
    assert (await pay(payer, payee, "6", key="k")).status_code == 200
    assert await payee.balance() == "106"
    assert (await approvals(owner, payer)).json()["pagination"]["total_items"] == 1
    assert (await pay(payer, payee, "6", key="another")).json()["approval_id"] != approval


async def test_a_denied_call_repeated_under_its_key_is_refused_and_not_put_to_the_owner_again(
    owner, payer, payee
):
    await govern(owner, payer, approval_over="5")
    approval = (await pay(payer, payee, "6", key="k")).json()["approval_id"]
    await decide(owner, payer, approval, "deny")
    assert code(await pay(payer, payee, "6", key="k")) == (409, "SPEND_APPROVAL_UNUSABLE")
    assert (await approvals(owner, payer)).json()["pagination"]["total_items"] == 1
    assert (await pay(payer, payee, "7", key="k")).status_code == 202


async def test_an_approval_is_good_for_its_receiver_and_amount_only(registry, owner, payer, payee):
    other = await registry.agent()
    await govern(owner, payer, approval_over="5")
    approval = await asked(payer, payee, "6")
    await decide(owner, payer, approval, "approve")
    for receiver, amount in ((payee, "7"), (payee, "5.5"), (other, "6")):
        answer = await pay(payer, receiver, amount, approval=approval)
        assert code(answer) == (403, "SPEND_APPROVAL_FOR_ANOTHER")
    assert (await pay(payer, payee, "6", approval=approval, route="/teg/send")).status_code == 200


async def test_an_approval_lifts_no_other_limit(owner, payer, payee):
    await govern(owner, payer, approval_over="5", per_day_max="10")
    approval = await asked(payer, payee, "8")
    await decide(owner, payer, approval, "approve")
    assert (await pay(payer, payee, "3")).status_code == 200
    assert code(await pay(payer, payee, "8", approval=approval)) == (403, "SPEND_OVER_PER_DAY_MAX")
    await govern(owner, payer, approval_over="5", per_day_max="11")
    assert (await pay(payer, payee, "8", approval=approval)).status_code == 200


@pytest.mark.parametrize("word", [None, "deny"])
async def test_a_payment_that_is_not_approved_is_not_made(owner, payer, payee, word):
    await govern(owner, payer, approval_over="5")
    approval = await asked(payer, payee, "6")
    if word:
        assert (await decide(owner, payer, approval, word)).json()["status"] == "denied"
    refused = await pay(payer, payee, "6", approval=approval)
    assert code(refused) == (409, "SPEND_APPROVAL_UNUSABLE")
    assert refused.json()["error"]["context"] == {"status": "denied" if word else "pending"}
    assert await payee.balance() == "100"


async def test_a_decision_is_final(owner, payer, payee):
    await govern(owner, payer, approval_over="5")
    approval = await asked(payer, payee, "6")
    assert (await decide(owner, payer, approval, "deny")).status_code == 200
    for word in ("approve", "deny"):
        again = await decide(owner, payer, approval, word)
        assert code(again) == (409, "SPEND_APPROVAL_DECIDED")
        assert again.json()["error"]["context"] == {"status": "denied"}


async def test_of_two_decisions_at_once_one_counts(owner, payer, payee):
    await govern(owner, payer, approval_over="5")
    for number in range(6, 10):
        approval = await asked(payer, payee, str(number))
        answers = await at_once(
            *(decide(owner, payer, approval, word) for word in ("approve", "deny", "approve", "deny"))
        )
        assert sorted(answer.status_code for answer in answers) == [200, 409, 409, 409]
        (won,) = [answer.json()["status"] for answer in answers if answer.status_code == 200]
        paid = await pay(payer, payee, str(number), approval=approval)
        assert paid.status_code == (200 if won == "approved" else 409)


async def test_an_approval_used_at_the_same_moment_pays_once(owner, payer, payee):
    await govern(owner, payer, approval_over="5")
    approval = await asked(payer, payee, "6")
    await decide(owner, payer, approval, "approve")
    answers = await at_once(*(pay(payer, payee, "6", approval=approval) for _ in range(8)))
    assert sorted(answer.status_code for answer in answers) == [200] + [409] * 7
    assert await payee.balance() == "106"


async def test_an_approval_that_nobody_decides_on_expires(registry, owner, payer, payee):
    await govern(owner, payer, approval_over="5")
    approval = await asked(payer, payee, "6")
    await elapse(payer, 23.9)
    assert (await asked(payer, payee, "6")) == approval
    await elapse(payer, 0.2)
    late = await decide(owner, payer, approval, "approve")
    assert code(late) == (409, "SPEND_APPROVAL_DECIDED")
    assert late.json()["error"]["context"] == {"status": "expired"}
    assert (await approvals(owner, payer)).json()["items"][0]["status"] == "expired"
    assert (await approvals(owner, payer, status="pending")).json()["items"] == []
    assert await asked(payer, payee, "6") != approval


async def test_an_approved_payment_that_is_not_made_in_time_expires(registry, owner, payer, payee):
    await govern(owner, payer, approval_over="5")
    approval = await asked(payer, payee, "6")
    await decide(owner, payer, approval, "approve")
    await elapse(payer, 24.1)
    refused = await pay(payer, payee, "6", approval=approval)
    assert refused.json()["error"]["context"] == {"status": "expired"}
    assert await payee.balance() == "100"


async def test_the_sweep_marks_what_is_over_and_keeps_the_rest(registry, owner, payer, payee):
    await govern(owner, payer, approval_over="5")
    over, used = [await asked(payer, payee, amount) for amount in ("6", "7")]
    await decide(owner, payer, used, "approve")
    await pay(payer, payee, "7", approval=used)
    await elapse(payer, 25)
    waiting = await asked(payer, payee, "8")
    await registry.database.transaction(forget_approvals)
    statement = f"SELECT id, status FROM agents_spend_approval WHERE {OF_AGENT}"
    rows = await registry.database.read(lambda tx: tx.fetch(statement, payer.did))
    stored = {str(row["id"]): row["status"] for row in rows}
    assert stored == {over: "expired", used: "approved", waiting: "pending"}
    await elapse(payer, 24 * 91)
    await days_pass(payer, 91)
    await asked(payer, payee, "9")
    await registry.database.transaction(forget_approvals)
    assert (await approvals(owner, payer)).json()["pagination"]["total_items"] == 1
    days = f"SELECT count(*) FROM agents_spending WHERE {OF_AGENT}"
    assert await registry.database.read(lambda tx: tx.fetchval(days, payer.did)) == 0


async def test_nobody_is_asked_about_what_could_not_be_paid_anyway(registry, owner, payer, payee):
    await govern(owner, payer, approval_over="5", per_tx_max="200")
    assert (await pay(payer, payee, "120")).status_code == 402
    assert (await pay(payer, STRANGER, "6")).status_code == 404
    assert (await pay(payer, payee, "201")).status_code == 403
    assert (await approvals(owner, payer)).json()["items"] == []


async def test_an_owner_is_asked_about_a_hundred_payments_at_most(registry, owner, payer, payee):
    await govern(owner, payer, approval_over="0")
    await run(
        registry,
        "INSERT INTO agents_spend_approval (agent_id, payee, amount, expires_at)"
        " SELECT id, $2, n, now() + interval '1 hour' FROM agents_agent, generate_series(1, 99) n WHERE did = $1",
        payer.did,
        payee.did,
    )
    known = await asked(payer, payee, "6")
    assert code(await pay(payer, payee, "7")) == (409, "SPEND_APPROVALS_PENDING")
    assert await asked(payer, payee, "6") == known
    page = (await approvals(owner, payer, limit=30, offset=90)).json()
    assert (len(page["items"]), page["pagination"]["total_items"]) == (10, 100)


async def test_approvals_of_others_cannot_be_distinguished_from_those_that_do_not_exist(
    registry, owner, payer, payee
):
    stranger, other = await registry.developer(), await owner.agent(name="Other")
    foreign = await stranger.agent(name="Foreign")
    for one in (payer, other):
        await govern(owner, one, approval_over="5")
    approval = await asked(payer, payee, "6")
    await decide(owner, payer, approval, "approve")
    assert (await pay(payee, other, "20")).status_code == 200

    def returned(answer):
        problem = answer.json()
        return answer.status_code, problem["detail"], problem["error"]["code"]

    nowhere = str(uuid4())
    for word in ("approve", "deny"):
        assert returned(await decide(stranger, payer, approval, word)) == returned(
            await decide(stranger, payer, nowhere, word)
        )
        mine = returned(await decide(stranger, foreign, approval, word))
        assert mine == returned(await decide(stranger, foreign, nowhere, word))
        assert mine[0] == 404
        assert returned(await decide(owner, other, approval, word)) == mine
    assert (await approvals(stranger, payer)).status_code == 404
    shown = returned(await pay(other, payee, "6", approval=approval))
    assert shown == returned(await pay(other, payee, "6", approval=nowhere))
    assert shown == (404, shown[1], "SPEND_APPROVAL_UNKNOWN")
    assert (await pay(payer, payee, "6", approval=approval)).status_code == 200


async def test_an_agent_reads_its_own_approvals_and_decides_on_none(registry, owner, payer, payee):
    await govern(owner, payer, approval_over="5")
    approval = await asked(payer, payee, "6")
    mine = await registry.get("/agents/me/spend-approvals", headers=payer.headers)
    assert [item["approval_id"] for item in mine.json()["items"]] == [approval]
    others = await registry.get("/agents/me/spend-approvals", headers=payee.headers)
    assert others.json()["items"] == []
    path = f"/agents/{payer.did}/spend-approvals/{approval}/approve"
    assert (await registry.post(path, headers=payer.headers)).status_code == 401
    assert (
        await registry.get(f"/agents/{payer.did}/spend-approvals", headers=payer.headers)
    ).status_code == 401


@pytest.mark.usefixtures("unknown_paths_expected")
async def test_what_is_no_approval_id_is_invalid(owner, payer, payee):
    await govern(owner, payer, approval_over="5")
    assert (await pay(payer, payee, "6", approval="yes")).status_code == 422
    assert (await decide(owner, payer, "yes", "approve")).status_code == 404


async def test_a_policy_put_while_payments_run_lets_none_begin_past_it(registry, owner, payer, payee):
    """Whatever was asked for after the answer to the owner is judged by the policy."""

    async def pay_until_stopped():
        while (await pay(payer, payee, "1")).status_code == 200:
            pass

    before = await payee.balance()
    paying = asyncio.create_task(pay_until_stopped())
    while await payee.balance() == before:
        pass
    await govern(owner, payer, per_day_max="0")
    held = await payee.balance()
    await paying
    assert float(await payee.balance()) - float(held) <= 1
    assert (await registry.supply())["delta"] == "0"


async def test_what_is_asked_for_after_the_answer_to_the_owner_is_judged_by_the_policy(
    registry, owner, payer, payee
):
    """Only requests sent before the answer may be carried out without the policy, however many are under way."""
    answered = asyncio.Event()
    outcomes = []

    async def authorize_until_answered(sender):
        body = {"target_agent_did": payee.did, "amount": "0.001"}
        for number in itertools.count():
            is_after = answered.is_set()
            paid = await pay(payer, payee, "0.001")
            made = await registry.post("/a2a-payment/authorize", json=body, headers=payer.headers)
            outcomes.append((is_after, paid.status_code, made.status_code))
            if is_after:
                return
            if sender == 0 and number == 2:
                under_way.set()

    under_way = asyncio.Event()
    senders = [asyncio.create_task(authorize_until_answered(sender)) for sender in range(8)]
    await under_way.wait()
    await govern(owner, payer, per_tx_max="0")
    answered.set()
    await asyncio.gather(*senders)
    assert {outcome[1:] for outcome in outcomes if outcome[0]} == {(403, 403)}
    assert (False, 200, 200) in outcomes
    assert (await registry.supply())["delta"] == "0"
