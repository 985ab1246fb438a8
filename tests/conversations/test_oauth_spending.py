"""Spending under a grant: judged and counted with the spend policy in the commit that pays, the stricter wins."""

from typing import Any

import pytest

from hansa.foundation.values.secrets import new_hex
from hansa.rooms.commerce.payments import expire_due_tokens
from tests.connections import ConnectedClient, connect, take_access_tokens
from tests.registry import TestAgent, TestRegistry, at_once
from tests.rooms.commerce.agreements import WORK, in_days, proposal

PAYING = ("wallet:read", "wallet:pay", "contracts:act")


@pytest.fixture
async def payee(registry: TestRegistry) -> TestAgent:
    take_access_tokens(registry)
    return await registry.agent()


async def connected(registry: TestRegistry, **limits: Any) -> ConnectedClient:
    return await connect(registry, *PAYING, **{"per_call": "5", "per_day": "10", "ask_above": "5", **limits})


def code_of(answer) -> str:
    return answer.json()["error"]["code"]


async def govern(client: ConnectedClient, **policy: Any) -> None:
    """Put the agent of the client under a spend policy."""
    assert client.agent
    answer = await client.registry.http.put(
        f"/api/v1/agents/{client.agent.did}/authz",
        json={"spend_policy": policy},
        headers=client.developer.headers,
    )
    assert answer.status_code == 200, answer.text


async def authorize(client: ConnectedClient, payee: TestAgent, amount: str, **more: Any):
    body = {"target_agent_did": payee.did, "amount": amount, **more}
    return await client.registry.post("/a2a-payment/authorize", json=body, headers=client.headers)


async def test_a_payment_over_the_limit_per_call_is_refused_and_moves_nothing(registry, payee):
    client = await connected(registry, per_call="2")
    before = await client.agent.balance()
    answer = await client.transfer(payee, "2.00000001")
    assert (answer.status_code, code_of(answer)) == (403, "SPEND_OVER_PER_TX_MAX")
    assert await client.agent.balance() == before
    assert await client.spent() == "0"
    assert (await client.transfer(payee, "2")).status_code == 200
    assert await client.spent() == "2"


async def test_the_limit_of_a_day_holds_over_every_path_that_pays_or_binds_money(registry, payee):
    client = await connected(registry)
    assert (await client.transfer(payee, "4")).status_code == 200
    assert (await authorize(client, payee, "4")).status_code == 200
    refused = await propose(client, payee, "3")
    assert (refused.status_code, code_of(refused)) == (403, "SPEND_OVER_PER_DAY_MAX")
    sent = await registry.post(
        "/teg/send", json={"receiver_did": payee.did, "amount": "3"}, headers=client.headers
    )
    assert code_of(sent) == "SPEND_OVER_PER_DAY_MAX"
    many = await registry.post(
        "/teg/transfers",
        json={"transfers": [{"key": "a", "receiver_did": payee.did, "amount": "3"}]},
        headers=client.headers,
    )
    assert "SPEND_OVER_PER_DAY_MAX" in many.text
    assert (await propose(client, payee, "2")).status_code == 201
    assert await client.spent() == "10"


async def test_of_the_policy_and_the_grant_the_stricter_wins_and_both_count(registry, payee):
    client = await connected(registry)
    await govern(client, per_tx_max="1", per_day_max="3")
    assert code_of(await client.transfer(payee, "2")) == "SPEND_OVER_PER_TX_MAX"
    await govern(client, per_tx_max="100", per_day_max="100")
    assert code_of(await client.transfer(payee, "5.5")) == "SPEND_OVER_PER_TX_MAX"
    assert (await client.transfer(payee, "5")).status_code == 200
    authz = await registry.get(f"/agents/{client.agent.did}/authz", headers=client.developer.headers)
    assert authz.json()["spent_today"] == "5"
    assert await client.spent() == "5"


async def test_a_payment_of_the_agent_itself_is_not_counted_under_the_grant(registry, payee):
    client = await connected(registry)
    assert (await client.agent.transfer(payee, "20")).status_code == 200
    assert await client.spent() == "0"


async def test_what_is_not_paid_is_given_back_to_both(registry, payee):
    client = await connected(registry)
    await govern(client, per_day_max="50")
    token = (await authorize(client, payee, "4")).json()
    assert await client.spent() == "4"
    released = await registry.post(
        "/a2a-payment/settle",
        json={"token": token["token"], "success": False},
        headers=client.agent.headers,
    )
    assert released.status_code == 200, released.text
    assert await client.spent() == "0"
    authz = await registry.get(f"/agents/{client.agent.did}/authz", headers=client.developer.headers)
    assert authz.json()["spent_today"] == "0"


async def test_what_was_counted_yesterday_is_given_back_to_yesterday(registry, payee):
    client = await connected(registry)
    yesterdays = (await authorize(client, payee, "4")).json()
    for statement in (
        "UPDATE agents_grant_spending SET day = day - 1",
        "UPDATE commerce_payment_token SET created_at = created_at - interval '1 day'",
    ):
        await registry.database.transaction(lambda tx, statement=statement: tx.execute(statement))
    assert (await authorize(client, payee, "3")).status_code == 200
    released = await registry.post(
        "/a2a-payment/settle",
        json={"token": yesterdays["token"], "success": False},
        headers=client.agent.headers,
    )
    assert released.status_code == 200, released.text
    rows = await registry.database.read(
        lambda tx: tx.fetch("SELECT spent FROM agents_grant_spending ORDER BY day")
    )
    assert [int(row["spent"]) for row in rows] == [0, 3 * 10**8]


async def test_a_token_that_expires_gives_its_amount_back(registry, payee):
    client = await connected(registry)
    assert (await authorize(client, payee, "4", ttl_seconds=60)).status_code == 200
    await registry.database.transaction(
        lambda tx: tx.execute(
            "UPDATE commerce_payment_token SET created_at = created_at - interval '2 minutes',"
            " expires_at = expires_at - interval '2 minutes'"
        )
    )
    await expire_due_tokens(registry.runtime)
    assert await client.spent() == "0"


async def test_payments_at_the_same_moment_pass_the_limit_together_only_as_far_as_it_goes(registry, payee):
    client = await connected(registry, per_call="1", per_day="3")
    answers = await at_once(
        *(client.transfer(payee, "1") for _ in range(6)), *(authorize(client, payee, "1") for _ in range(6))
    )
    assert sum(answer.status_code == 200 for answer in answers) == 3
    assert {code_of(answer) for answer in answers if answer.status_code != 200} == {"SPEND_OVER_PER_DAY_MAX"}
    assert await client.spent() == "3"


async def test_over_ask_above_the_owner_approves_this_grant_and_request_alone(registry, payee):
    client = await connected(registry, ask_above="1")
    key = new_hex("int_", 32)
    asked = await client.transfer(payee, "2", key=key)
    assert asked.status_code == 202, asked.text
    approval_id = asked.json()["approval_id"]
    assert (await client.transfer(payee, "2", key=key)).json()["approval_id"] == approval_id

    page = await client.browser.open(f"/account/approvals/{approval_id}")
    for shown in ("2 AVT", payee.did, "Test client (unverified)", client.agent.did):
        assert shown in page.text
    await client.browser.send(f"/account/approvals/{approval_id}/approve")
    assert "Approved" in client.browser.text

    other = await client.transfer(payee, "2", key=new_hex("int_", 32))
    assert other.status_code == 202
    assert other.json()["approval_id"] != approval_id
    named = await registry.post(
        "/teg/transfer",
        json={"receiver_agent_id": payee.did, "amount": "2", "approval_id": approval_id},
        headers={**client.headers, "Idempotency-Key": new_hex("int_", 32)},
    )
    assert code_of(named) == "SPEND_APPROVAL_FOR_ANOTHER"

    paid = await client.transfer(payee, "2", key=key)
    assert paid.status_code == 200, paid.text
    assert (await client.transfer(payee, "2", key=key)).json() == paid.json()
    assert await client.spent() == "2"


async def test_an_approval_of_a_grant_serves_neither_the_agent_itself_nor_another_grant(registry, payee):
    client = await connected(registry, ask_above="1")
    await govern(client, approval_over="1")
    key = new_hex("int_", 32)
    approval_id = (await client.transfer(payee, "2", key=key)).json()["approval_id"]
    await client.browser.open(f"/account/approvals/{approval_id}")
    await client.browser.send(f"/account/approvals/{approval_id}/approve")
    for named in ({}, {"key": key}):
        own = await client.agent.transfer(payee, "2", approval_id=approval_id, **named)
        assert code_of(own) == "SPEND_APPROVAL_FOR_ANOTHER"
    assert (await client.agent.transfer(payee, "2", key=key)).status_code == 202
    second = await connect(registry, *PAYING, developer=client.developer, agent=client.agent, ask_above="1")
    assert (await second.transfer(payee, "2", key=key)).status_code == 202
    assert (await client.transfer(payee, "2", key=key)).status_code == 200


@pytest.mark.parametrize("decision", ["approve", "deny"])
async def test_only_the_browser_session_of_the_owner_decides_on_a_payment_of_a_client(
    registry, payee, decision
):
    client = await connected(registry, ask_above="1")
    approval_id = (await client.transfer(payee, "2", key="k")).json()["approval_id"]
    path = f"/agents/{client.agent.did}/spend-approvals/{approval_id}/{decision}"
    for who in (client.developer, await client.developer.api_key()):
        answer = await registry.post(path, headers=who.headers)
        assert (answer.status_code, code_of(answer)) == (403, "SPEND_APPROVAL_IN_BROWSER")
    stranger = await connect(registry)
    assert (await stranger.browser.open(f"/account/approvals/{approval_id}")).status_code == 404


async def test_a_grant_has_five_pending_approvals(registry, payee):
    client = await connected(registry, ask_above="0")
    for number in range(5):
        assert (await client.transfer(payee, "1", key=f"key-{number}")).status_code == 202
    sixth = await client.transfer(payee, "1", key="key-6")
    assert (sixth.status_code, code_of(sixth)) == (409, "SPEND_APPROVALS_PENDING")


async def test_without_a_key_no_approval_can_be_asked_for(registry, payee):
    client = await connected(registry, ask_above="1")
    answer = await client.transfer(payee, "2")
    assert (answer.status_code, code_of(answer)) == (403, "SPEND_OVER_PER_TX_MAX")


async def test_work_that_this_grant_bound_is_counted_once_and_other_work_at_its_approval(registry, payee):
    client = await connected(registry, per_day="6")
    own = (await propose(client, payee, "3")).json()["id"]
    other = await registry.post("/contracts", json=terms(payee, "4"), headers=client.agent.headers)
    assert other.status_code == 201, other.text
    for contract in (own, other.json()["id"]):
        await work(registry, payee, contract)
    assert await client.spent() == "3"
    approved = await registry.post(f"/contracts/{own}/approve-completion", json={}, headers=client.headers)
    assert approved.status_code == 200, approved.text
    assert await client.spent() == "3"
    refused = await registry.post(
        f"/contracts/{other.json()['id']}/approve-completion", json={}, headers=client.headers
    )
    assert code_of(refused) == "SPEND_OVER_PER_DAY_MAX"


async def test_a_connection_that_was_ended_pays_no_more(registry, payee):
    client = await connected(registry)
    (row,) = await client.connections()
    ended = await registry.http.delete(
        f"/api/v1/auth/connections/{row['id']}", headers=client.developer.headers
    )
    assert ended.json() == {"id": row["id"], "deleted": True}
    assert (await client.transfer(payee, "1")).status_code == 401


def terms(payee: TestAgent, amount: str) -> dict[str, Any]:
    """A funded proposal."""
    return proposal(payee, amount=amount, funded=True, review_by=in_days(20))


async def propose(client: ConnectedClient, payee: TestAgent, amount: str):
    return await client.registry.post("/contracts", json=terms(payee, amount), headers=client.headers)


async def work(registry: TestRegistry, payee: TestAgent, contract: int) -> None:
    """Accept and submit."""
    for act, body in (("accept", {}), ("submit", {"deliverable": WORK})):
        answer = await registry.post(f"/contracts/{contract}/{act}", json=body, headers=payee.headers)
        assert answer.status_code == 200, answer.text
