"""Children of agents: a purse of their own, rights within those of the parent, a lifetime, and the rest swept back."""

import json
from decimal import Decimal

import pytest

from tests.all_events import require_schemas_kept
from tests.organizations import code, found
from tests.paying import Payments
from tests.registry import card_of
from tests.spawning import audited, child_of, children, end, end_those_due, ended, grow_older, spawn

RATE = Decimal("0.005")


@pytest.fixture
def registry(registry_of_file):
    return registry_of_file


@pytest.fixture
async def owner(registry):
    return await registry.developer()


@pytest.fixture
async def parent(owner):
    return await owner.agent(name="Parent")


@pytest.fixture
async def stranger(registry):
    return await registry.agent(name="Stranger")


async def govern(owner, agent, **policy):
    body = {"spend_policy": policy}
    return await owner.registry.http.put(
        f"/api/v1/agents/{agent.did}/authz", json=body, headers=owner.headers
    )


async def authz(owner, agent):
    return (await owner.registry.get(f"/agents/{agent.did}/authz", headers=owner.headers)).json()


async def events_of(registry, did, event_type):
    rows = await registry.database.query(
        lambda tx: tx.fetch(
            "SELECT data FROM journal_event WHERE aggregate_id = $1 AND event_type = $2", did, event_type
        )
    )
    return [json.loads(row["data"]) for row in rows]


async def test_a_child_is_an_agent_with_a_purse_and_an_end(registry, parent):
    answer = await spawn(parent, name="Helper", funding="10", ttl_seconds=3600)
    assert answer.status_code == 201, answer.text
    made = answer.json()
    assert (made["parent_did"], made["initial_funding_status"]) == (parent.did, "not_first_agent")
    assert made["client_secret"].startswith("hsk_")
    (child,) = await children(parent)
    assert (child["child_did"], child["name"], child["state"]) == (made["agent_did"], "Helper", "living")
    assert (child["funding"], child["balance"], child["depth"]) == ("10", "10", 1)
    assert made["expires_at"] == child["expires_at"]
    assert await parent.balance() == "89.95"


async def test_an_owner_spawns_as_the_agent_and_reads_its_children(parent, owner):
    child = await child_of(parent, owner)
    (read,) = await children(parent, owner)
    assert (read["child_did"], await child.balance()) == (child.did, "10")


async def test_agent_and_transfer_and_events_are_one_commit(registry, parent):
    child = await child_of(parent, ttl_seconds=3600)
    (onboarded,) = await events_of(registry, child.did, "AgentOnboarded")
    assert onboarded["parent_did"] == parent.did
    (spawned,) = await events_of(registry, parent.did, "AgentSpawned")
    assert (spawned["child_did"], spawned["funding"], spawned["fee"]) == (child.did, "10", "0.05")
    await require_schemas_kept(registry.database, "AgentSpawned")
    refused = await spawn(parent, funding="1000")
    assert code(refused) == (402, "INSUFFICIENT_BALANCE")
    assert len(await children(parent)) == 1


async def test_an_agent_without_authz_delegate_spawns_nothing(owner, parent):
    answer = await owner.registry.http.put(
        f"/api/v1/agents/{parent.did}/authz", json={"roles": ["staker"]}, headers=owner.headers
    )
    assert answer.status_code == 200
    assert code(await spawn(parent)) == (403, "PERMISSION_MISSING")
    assert (await spawn(parent, owner)).status_code == 201


async def test_a_stranger_neither_spawns_nor_reads_nor_ends(parent, stranger, registry):
    other = await registry.developer()
    child = await child_of(parent)
    for who in (stranger, other):
        assert (await spawn(parent, who)).status_code == 404
        assert (await end(child, who)).status_code == 404
        answer = await registry.get(f"/agents/{parent.did}/spawn", headers=who.headers)
        assert answer.status_code == 404
    assert (await end(child, child)).status_code == 404


async def test_roles_of_a_child_are_among_those_of_its_parent(parent, owner):
    assert code(await spawn(parent, roles=["staker"])) == (403, "ROLES_NOT_HELD")
    child = await child_of(parent, roles=["client"])
    assert (await authz(owner, child))["roles"] == ["client"]
    plain = await child_of(parent)
    assert (await authz(owner, plain))["roles"] == (await authz(owner, parent))["roles"]


async def test_the_policy_of_a_child_is_that_of_its_parent_kept_or_narrowed(parent, owner, stranger):
    bounds = {"per_tx_max": "20", "per_day_max": "60", "allowlist": [stranger.did], "approval_over": "15"}
    await govern(owner, parent, **bounds)
    child = await child_of(parent)
    assert (await authz(owner, child))["spend_policy"] == bounds
    for widened in (
        {"per_tx_max": "21"},
        {"per_day_max": None},
        {"allowlist": [parent.did]},
        {"allowlist": None},
        {"approval_over": "16"},
    ):
        assert code(await spawn(parent, spend_policy=widened)) == (422, "POLICY_WIDENED"), widened
    narrow = await child_of(parent, spend_policy={"per_tx_max": "5", "allowlist": []})
    policy = (await authz(owner, narrow))["spend_policy"]
    assert policy == {**bounds, "per_tx_max": "5", "allowlist": []}


async def test_the_rights_of_a_child_stay_within_those_of_its_parent(parent, owner, stranger):
    child = await child_of(parent)
    grandchild = await child_of(child, funding="1")
    given = await owner.registry.post(
        f"/agents/{child.did}/authz/roles", json={"role": "staker"}, headers=owner.headers
    )
    assert code(given) == (403, "ROLES_NOT_HELD")
    narrowed = await owner.registry.http.put(
        f"/api/v1/agents/{parent.did}/authz",
        json={"roles": ["client"], "spend_policy": {"per_tx_max": "3"}},
        headers=owner.headers,
    )
    assert narrowed.status_code == 200
    for below in (child, grandchild):
        rights = await authz(owner, below)
        assert (rights["roles"], rights["spend_policy"]["per_tx_max"]) == (["client"], "3")
    assert code(await govern(owner, child, per_tx_max="4")) == (422, "POLICY_WIDENED")
    assert (await govern(owner, child, per_tx_max="2")).status_code == 200


async def test_funding_is_judged_and_counted_as_a_payment_of_the_parent(parent, owner, stranger):
    await govern(owner, parent, per_day_max="25", allowlist=[stranger.did])
    await child_of(parent)
    assert (await authz(owner, parent))["spent_today"] == "10"
    assert code(await spawn(parent, funding="16")) == (403, "SPEND_OVER_PER_DAY_MAX")


async def test_funding_above_the_limit_waits_for_the_owner(parent, owner):
    await govern(owner, parent, approval_over="5")
    waiting = await spawn(parent, key="once")
    assert waiting.status_code == 202, waiting.text
    assert await children(parent) == []
    approval = waiting.json()["approval_id"]
    path = f"/agents/{parent.did}/spend-approvals/{approval}/approve"
    assert (await owner.registry.post(path, headers=owner.headers)).status_code == 200
    made = await spawn(parent, key="once")
    assert made.status_code == 201, made.text
    assert (await spawn(parent, key="other", approval=approval)).status_code == 409


async def test_a_repeated_spawn_has_the_first_answer_and_makes_one_child(parent):
    first = await spawn(parent, key="again")
    again = await spawn(parent, key="again")
    assert (again.status_code, again.json()) == (201, first.json())
    assert again.headers["idempotent-replayed"] == "true"
    assert len(await children(parent)) == 1
    assert code(await spawn(parent, key="again", funding="11")) == (422, "IDEMPOTENCY_KEY_REUSED")


async def test_the_secret_of_a_kept_answer_is_not_readable_in_the_database(registry, parent):
    secret = (await spawn(parent, key="sealed")).json()["client_secret"]
    found = await registry.database.query(
        lambda tx: tx.fetchval(
            "SELECT count(*) FROM plumbing_idempotency WHERE answer LIKE $1", f"%{secret}%"
        )
    )
    assert found == 0


async def test_a_child_of_the_third_generation_spawns_none(parent):
    child = await child_of(parent)
    grandchild = await child_of(child, funding="5")
    last = await child_of(grandchild, funding="2")
    assert code(await spawn(last, funding="1")) == (409, "SPAWN_TOO_DEEP")


async def test_a_child_does_not_outlive_its_parent(parent):
    child = await child_of(parent, ttl_seconds=3600)
    assert code(await spawn(child, funding="1", ttl_seconds=7200)) == (422, "LIFETIME_TOO_LONG")
    grandchild = await child_of(child, funding="1")
    assert grandchild.created["expires_at"] <= child.created["expires_at"]


async def test_ten_a_minute_are_spawned_in_a_tree(parent):
    for _ in range(10):
        assert (await spawn(parent, funding="1")).status_code == 201
    refused = await spawn(parent, funding="1")
    assert code(refused) == (429, "QUOTA_REACHED")
    assert int(refused.headers["retry-after"]) in range(1, 61)


@pytest.mark.parametrize(
    "body",
    [
        {"funding": "0"},
        {"name": " "},
        {"name": "a\u202eb"},
        {"ttl_seconds": 59},
        {"ttl_seconds": 30 * 86_400 + 1},
        {"roles": ["admin"]},
        {"spend_policy": {"unknown": "1"}},
        {"grant": True},
    ],
)
async def test_a_malformed_order_spawns_nothing(parent, body):
    assert (await spawn(parent, **body)).status_code == 422
    assert await children(parent) == []


async def test_a_child_with_a_card_is_listed_and_one_without_is_not(registry, parent):
    listed = await child_of(parent, name="Listed", agent_card=card_of(name="Other"))
    unlisted = await child_of(parent, name="Unlisted")
    card = (await registry.get(f"/agent-cards/{listed.did}")).json()
    assert (card["name"], card.get("unlisted", False)) == ("Listed", False)
    assert (await registry.get(f"/agent-cards/{unlisted.did}")).json()["name"] == "Unlisted"


@pytest.mark.parametrize("who", ["parent", "owner"])
async def test_an_end_returns_the_balance_less_the_fee_to_the_parent(registry, parent, owner, who):
    child = await child_of(parent)
    answer = await ended(child, parent if who == "parent" else owner)
    assert (answer["state"], answer["status"], answer["cause"]) == ("ended", "revoked", who)
    assert (answer["balance"], answer["waits_for"]) == ("0", [])
    returned = Decimal(answer["returned"])
    fee = Decimal(10) - returned
    assert abs(fee - returned * RATE) <= Decimal("0.00000001")
    assert Decimal(await parent.balance()) == Decimal("89.95") + returned
    (revoked,) = await events_of(registry, child.did, "AgentRevoked")
    assert revoked["by"] == "spawn_end"
    await audited(registry)


async def test_an_end_is_repeated_without_effect(parent):
    child = await child_of(parent)
    first = await ended(child, parent)
    assert await ended(child, parent) == first


async def test_at_the_end_of_its_life_a_child_is_swept_and_revoked(registry, parent):
    child = await child_of(parent, ttl_seconds=60)
    await end_those_due(registry)
    assert (await children(parent))[0]["state"] == "living"
    await grow_older(child, 61)
    await end_those_due(registry)
    (read,) = await children(parent)
    assert (read["state"], read["cause"], read["balance"]) == ("ended", "ttl", "0")
    assert (await registry.get("/agents/me", headers=child.headers)).status_code == 403
    await audited(registry)


async def test_authorized_tokens_are_released_by_the_end(registry, parent):
    child, service = await child_of(parent), await registry.agent(name="Service")
    pay = Payments(registry, child, service)
    token = await pay.authorized("2", reserve=True)
    await ended(child, parent)
    status = await registry.database.query(
        lambda tx: tx.fetchval("SELECT status FROM commerce_payment_token WHERE caller = $1", child.did)
    )
    assert status == "released"
    assert (await pay.settle(token["token"])).status_code in {401, 403}
    await audited(registry)


async def test_a_token_in_use_keeps_a_child_until_it_is_settled(registry, parent):
    child, service = await child_of(parent), await registry.agent(name="Service")
    pay = Payments(registry, child, service)
    token = (await pay.authorized("2", capture_by="payee"))["token"]
    await pay.verify(token, target_agent_did=service.did, use_id="use-1")
    answer = await ended(child, parent)
    assert answer["state"] == "ending"
    assert "payments" in [reason["kind"] for reason in answer["waits_for"]]
    assert (await pay.settle(token, by=service, wait=10)).status_code == 200
    await end_those_due(registry)
    (read,) = await children(parent)
    assert read["state"] == "ended"
    assert await service.balance() == "102"
    await audited(registry)


async def test_a_child_that_is_ending_pays_nobody_and_gets_no_rights(registry, parent, owner):
    child, service = await child_of(parent), await registry.agent(name="Service")
    pay = Payments(registry, child, service)
    token = (await pay.authorized("2", capture_by="payee"))["token"]
    await pay.verify(token, target_agent_did=service.did, use_id="use-1")
    assert (await ended(child, parent))["state"] == "ending"
    assert (await child.transfer(service, "1")).status_code == 403
    assert (await authz(owner, child))["roles"] == []
    assert code(await govern(owner, child, per_tx_max="1")) == (409, "CHILD_ENDING")
    given = await registry.post(
        f"/agents/{child.did}/authz/roles", json={"role": "client"}, headers=owner.headers
    )
    assert code(given) == (409, "CHILD_ENDING")
    assert code(await spawn(child, owner, funding="1")) == (409, "CHILD_ENDING")


async def test_an_open_contract_keeps_a_child_beyond_its_life(registry, parent, stranger):
    child = await child_of(parent, ttl_seconds=60)
    proposed = await registry.post(
        "/contracts",
        json={
            "title": "Work",
            "contract_type": "service",
            "provider_did": stranger.did,
            "amount": "1",
            "terms": "Some work.",
            "acceptance_criteria": "It is done.",
        },
        headers=child.headers,
    )
    assert proposed.status_code == 201, proposed.text
    await grow_older(child, 61)
    await end_those_due(registry)
    (read,) = await children(parent)
    assert (read["state"], read["cause"]) == ("ending", "ttl")


async def test_locked_stakes_keep_a_child_and_unlocked_ones_are_released(registry, parent, owner):
    await owner.registry.http.put(
        f"/api/v1/agents/{parent.did}/authz",
        json={"roles": ["client", "staker"]},
        headers=owner.headers,
    )
    loose, locked = await child_of(parent, funding="20"), await child_of(parent, funding="20")
    for child, days in ((loose, 0), (locked, 30)):
        staked = await registry.post(
            "/staking/stake", json={"amount": "10", "lock_period": days}, headers=child.headers
        )
        assert staked.status_code in {200, 201}, staked.text
    assert (await ended(loose, parent))["state"] == "ended"
    answer = await ended(locked, parent)
    assert (answer["state"], [reason["kind"] for reason in answer["waits_for"]]) == ("ending", ["stake"])
    await audited(registry)


async def test_a_parent_with_living_children_does_not_end(registry, parent, owner):
    child = await child_of(parent)
    grandchild = await child_of(child, funding="1")
    path = f"/api/v1/agents/{parent.did}"
    assert code(await registry.http.delete(path, headers=owner.headers)) == (409, "AGENT_HAS_CHILDREN")
    own = await registry.http.delete("/api/v1/agents/me", headers=parent.headers)
    assert code(own) == (409, "AGENT_HAS_CHILDREN")
    assert code(await end(child, parent)) == (409, "AGENT_HAS_CHILDREN")
    await ended(grandchild, child)
    await ended(child, parent)
    assert code(await registry.http.delete(path, headers=owner.headers)) == (409, "ACCOUNT_HOLDS_UNITS")


async def test_children_of_an_ended_life_end_before_their_parent(registry, parent):
    child = await child_of(parent, ttl_seconds=120)
    grandchild = await child_of(child, funding="1", ttl_seconds=60)
    await grow_older(child)
    await end_those_due(registry)
    assert (await children(parent))[0]["state"] == "ending"
    await grow_older(grandchild)
    await end_those_due(registry)
    await end_those_due(registry)
    assert (await children(parent))[0]["state"] == "ended"
    await audited(registry)


async def test_a_purse_of_a_child_keeps_the_account_of_its_owner(registry, parent, owner):
    child = await child_of(parent)
    asked = await registry.post("/account/request-deletion", headers=owner.headers)
    assert asked.status_code == 409, asked.text
    (blocker,) = [one for one in asked.json()["blockers"] if one["agent_did"] == child.did]
    assert (blocker["kind"], blocker["amount"]) == ("balance", "10")
    assert "End the child" in blocker["detail"]


async def test_neither_a_parent_nor_a_child_joins_an_organization(registry, parent, owner):
    child = await child_of(parent)
    organization = await found(registry, owner)
    for agent in (parent, child):
        answer = await organization.send(owner, "POST", "/agents", json={"did": agent.did})
        assert code(answer) == (409, "AGENT_HAS_CHILDREN")


async def test_children_are_listed_newest_first_in_pages(registry, parent, owner):
    made = [(await child_of(parent, funding="1")).did for _ in range(3)]
    path = f"/agents/{parent.did}/spawn"
    first = (await registry.get(path, params={"limit": 2}, headers=owner.headers)).json()
    assert [child["child_did"] for child in first["items"]] == made[:0:-1]
    rest = await registry.get(path, params={"limit": 2, "next": first["next"]}, headers=owner.headers)
    assert ([child["child_did"] for child in rest.json()["items"]], rest.json()["next"]) == (made[:1], None)
