"""Roles of agents: given by the owner, read at the decision."""

import pytest

from hansa.foundation.plumbing.telemetry.metrics import shadow_refusals_total
from hansa.foundation.values.roles import PERMISSIONS_OF_ROLE
from tests.registry import TestRegistry, at_once


@pytest.fixture(scope="module")
def registry(registry_of_file: TestRegistry) -> TestRegistry:
    return registry_of_file


async def give(registry, developer, did, role):
    return await registry.post(f"/agents/{did}/authz/roles", json={"role": role}, headers=developer.headers)


async def authz(registry, developer, did):
    return await registry.get(f"/agents/{did}/authz", headers=developer.headers)


async def set_agent(registry, agent, assignment):
    statement = f"UPDATE agents_agent SET {assignment} WHERE did = $1"
    assert await registry.database.transaction(lambda tx: tx.execute(statement, agent.did)) == "UPDATE 1"


def code(answer):
    return answer.status_code, answer.json()["error"]["code"]


async def test_a_new_agent_has_the_default_roles_and_what_they_permit(registry):
    developer = await registry.developer()
    agent = await developer.agent()
    answer = await authz(registry, developer, agent.did)
    assert answer.status_code == 200
    assert answer.json() == {
        "agent_did": agent.did,
        "roles": ["trader", "client"],
        "permissions": sorted(PERMISSIONS_OF_ROLE["trader"] | PERMISSIONS_OF_ROLE["client"]),
        "mode": "enforce",
        "spend_policy": None,
        "spent_today": None,
    }


async def test_the_owner_gives_a_role_and_sees_what_it_permits(registry):
    developer = await registry.developer()
    agent = await developer.agent()
    answer = await give(registry, developer, agent.did, "governor")
    assert answer.status_code == 200
    returned = answer.json()
    assert set(returned) == {"agent_did", "roles", "permissions"}
    assert (returned["agent_did"], returned["roles"]) == (agent.did, ["trader", "client", "governor"])
    assert {"governance.propose", "governance.vote"} <= set(returned["permissions"])
    shown = (await authz(registry, developer, agent.did)).json()
    assert (shown["roles"], shown["permissions"]) == (returned["roles"], returned["permissions"])


async def test_a_role_given_twice_is_held_once(registry):
    developer = await registry.developer()
    agent = await developer.agent()
    first = await give(registry, developer, agent.did, "staker")
    second = await give(registry, developer, agent.did, "staker")
    assert (first.status_code, second.status_code) == (200, 200)
    assert first.json() == second.json()
    assert second.json()["roles"].count("staker") == 1


async def test_roles_given_at_the_same_moment_are_all_kept(registry):
    developer = await registry.developer()
    agent = await developer.agent()
    asked = [*PERMISSIONS_OF_ROLE] * 3
    answers = await at_once(*(give(registry, developer, agent.did, role) for role in asked))
    assert {answer.status_code for answer in answers} == {200}
    held = (await authz(registry, developer, agent.did)).json()["roles"]
    assert sorted(held) == sorted(PERMISSIONS_OF_ROLE)


async def test_a_role_counts_at_the_agents_next_request(registry):
    developer = await registry.developer()
    agent, payee = await developer.agent(), await registry.agent()
    await set_agent(registry, agent, "roles = '{}'")
    refused = await agent.transfer(payee, "1")
    assert code(refused) == (403, "PERMISSION_MISSING")
    assert (await give(registry, developer, agent.did, "client")).status_code == 200
    assert (await agent.transfer(payee, "1")).status_code == 200
    me = await registry.get("/agents/me", headers=agent.headers)
    assert me.json()["roles"] == ["client"]


@pytest.mark.parametrize("mode", ["off", "shadow", "enforce"])
async def test_the_owner_sees_whether_permissions_are_enforced(start_registry, mode):
    registry = await start_registry(agent_rbac_mode=mode)
    developer = await registry.developer()
    agent, payee = await developer.agent(), await registry.agent()
    await set_agent(registry, agent, "roles = '{}'")
    shown = (await authz(registry, developer, agent.did)).json()
    assert (shown["roles"], shown["permissions"], shown["mode"]) == ([], [], mode)
    paid = await agent.transfer(payee, "1")
    assert paid.status_code == (403 if mode == "enforce" else 200)


@pytest.mark.parametrize(("mode", "returned"), [("off", 0), ("shadow", 2), ("enforce", 0)])
async def test_shadow_mode_logs_and_counts_what_it_would_refuse(start_registry, mode, returned, capsys):
    registry = await start_registry(agent_rbac_mode=mode)
    developer = await registry.developer()
    agent, payee = await developer.agent(), await registry.agent()
    await set_agent(registry, agent, "roles = '{governor}'")
    before = would_be_refused()
    capsys.readouterr()
    await agent.transfer(payee, "1")
    await registry.post("/staking/stake", json={"amount": "10"}, headers=agent.headers)
    await registry.get("/agents/me", headers=agent.headers)
    assert would_be_refused() - before == returned
    lines = [line for line in capsys.readouterr().out.splitlines() if "would have been refused" in line]
    assert len(lines) == returned
    assert all(agent.did in line and "PERMISSION_MISSING" in line for line in lines)


async def test_shadow_mode_counts_a_payment_that_is_authorized_and_none_that_is_refused_before(
    start_registry,
):
    registry = await start_registry(agent_rbac_mode="shadow")
    agent, payee = await registry.agent(), await registry.agent()
    await set_agent(registry, agent, "roles = '{governor}'")
    before = would_be_refused()
    for target, status, counted in ((agent.did, 400, 0), (payee.did, 200, 1)):
        body = {"target_agent_did": target, "amount": "1"}
        answer = await registry.post("/a2a-payment/authorize", json=body, headers=agent.headers)
        assert (answer.status_code, would_be_refused() - before) == (status, counted)


def would_be_refused():
    return shadow_refusals_total.labels("roles", "PERMISSION_MISSING")._value.get()


async def test_a_role_that_does_not_exist_is_invalid(registry):
    developer = await registry.developer()
    agent = await developer.agent()
    for role in ("admin", "", "Trader", "trader ", "x" * 65, "trader\u0000", 7, None, ["trader"]):
        answer = await give(registry, developer, agent.did, role)
        assert answer.status_code == 422, role
    assert (await authz(registry, developer, agent.did)).json()["roles"] == ["trader", "client"]


async def test_the_description_names_every_role(registry):
    document = (await registry.get("/openapi.json")).json()
    assert document["components"]["schemas"]["RoleIn"]["properties"]["role"]["enum"] == list(
        PERMISSIONS_OF_ROLE
    )


async def test_who_does_not_own_the_agent_gives_it_no_role(registry):
    agent, stranger = await registry.agent(), await registry.developer()
    assert code(await give(registry, stranger, agent.did, "staker")) == (403, "NOT_THE_OWNER")
    me = await registry.get("/agents/me", headers=agent.headers)
    assert me.json()["roles"] == ["trader", "client"]


async def test_who_does_not_own_the_agent_cannot_distinguish_it_from_an_unknown_one_by_its_roles(registry):
    agent, stranger = await registry.agent(), await registry.developer()
    others = await authz(registry, stranger, agent.did)
    unknown = await authz(registry, stranger, "did:hansa:hansa.local:nobody")
    assert code(others) == code(unknown) == (404, "RESOURCE_NOT_FOUND")
    assert others.json()["detail"] == unknown.json()["detail"]


async def test_an_unknown_agent_gets_no_role(registry):
    developer = await registry.developer()
    assert (await give(registry, developer, "did:hansa:hansa.local:nobody", "staker")).status_code == 404
    assert (await give(registry, developer, "x" * 513, "staker")).status_code == 422


async def test_a_revoked_agent_gets_no_role_and_still_shows_those_it_had(registry):
    developer = await registry.developer()
    agent = await developer.agent()
    await set_agent(registry, agent, "status = 'revoked'")
    assert code(await give(registry, developer, agent.did, "staker")) == (409, "AGENT_REVOKED")
    assert (await authz(registry, developer, agent.did)).json()["roles"] == ["trader", "client"]


async def test_a_suspended_agent_may_get_a_role_and_stays_suspended(registry):
    developer = await registry.developer()
    agent = await developer.agent()
    await set_agent(registry, agent, "status = 'suspended'")
    assert (await give(registry, developer, agent.did, "staker")).status_code == 200
    me = await registry.get("/agents/me", headers=agent.headers)
    assert code(me) == (403, "AGENT_SUSPENDED")


async def test_an_agent_gives_itself_no_role(registry):
    agent = await registry.agent()
    answer = await registry.post(
        f"/agents/{agent.did}/authz/roles", json={"role": "staker"}, headers=agent.headers
    )
    assert answer.status_code == 401
    assert (await registry.get(f"/agents/{agent.did}/authz", headers=agent.headers)).status_code == 401
