"""Nobody gets rights by asking for them in the wrong place: in a card, a body, a header, or a token made of another."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.founded import open_copy
from tests.registry import DatabaseFarm, TestAgent, TestDeveloper, TestRegistry, card_of

ALL_ROLES = ["trader", "client", "staker", "governor", "service-provider"]
GRABBED: dict[str, Any] = {
    "roles": ALL_ROLES,
    "permissions": ["staking.manage"],
    "authz": {"roles": ALL_ROLES},
    "is_governed": False,
    "spend_policy": None,
    "status": "active",
    "developer_id": 1,
    "actor": "developer:1",
}


@pytest.fixture(scope="module")
async def registry(database_farm: DatabaseFarm, tmp_path_factory) -> AsyncIterator[TestRegistry]:
    async with open_copy(database_farm, tmp_path_factory.mktemp("growth")) as opened:
        yield opened


@pytest.fixture
async def owner(registry: TestRegistry) -> TestDeveloper:
    return await registry.developer()


async def roles_of(agent: TestAgent) -> list[str]:
    return (await agent.registry.get("/agents/me", headers=agent.headers)).json()["roles"]


async def set_roles(agent: TestAgent, *roles: str) -> None:
    statement = "UPDATE agents_agent SET roles = $2 WHERE did = $1"
    await agent.registry.database.transaction(lambda tx: tx.execute(statement, agent.did, list(roles)))


async def issue(agent: TestAgent, permission: str, holder: TestAgent) -> str:
    body = {"caveats": {"permissions": [permission]}, "holder_agent_did": holder.did}
    answer = await agent.registry.post("/agents/capabilities", json=body, headers=agent.headers)
    assert answer.status_code == 200, answer.text
    return answer.json()["token"]


async def test_a_card_or_a_body_gives_no_roles(registry: TestRegistry, owner: TestDeveloper):
    token = await owner.bootstrap_token()
    answer = await registry.post(
        "/onboard/create_agent",
        json={"agent_did_method": "hansa", "agent_card": card_of("Grabber", **GRABBED), **GRABBED},
        headers={"Bootstrap-Token": token, **registry.elsewhere()},
    )
    assert answer.status_code == 201, answer.text
    made = answer.json()
    form = {"username": made["client_id"], "password": made["client_secret"]}
    bought = await registry.post(
        "/auth/agent/token", data={**form, "roles": "staker", "scope": "staker"}, headers=registry.elsewhere()
    )
    agent = TestAgent(registry, made["agent_did"], bought.json()["access_token"], made)
    assert await roles_of(agent) == ["trader", "client"]
    stake = await registry.post("/staking/stake", json={"amount": "10", **GRABBED}, headers=agent.headers)
    assert stake.status_code == 403


async def test_an_agent_changes_no_rights_not_even_with_its_owner_acting(
    registry: TestRegistry, owner: TestDeveloper
):
    agent = await owner.agent()
    acted = await registry.post(f"/agents/{agent.did}/act-token", headers=owner.headers)
    for token in (agent.token, acted.json()["access_token"]):
        headers = {"Authorization": f"Bearer {token}"}
        path = f"/api/v1/agents/{agent.did}/authz"
        for answer in (
            await registry.http.put(path, json={"roles": ALL_ROLES}, headers=headers),
            await registry.http.post(f"{path}/roles", json={"role": "staker"}, headers=headers),
        ):
            assert answer.status_code == 401
    assert await roles_of(agent) == ["trader", "client"]


async def test_a_capability_lends_nothing_but_payments(registry: TestRegistry, owner: TestDeveloper):
    lender, borrower = await owner.agent(name="Lender"), await owner.agent(name="Borrower")
    await set_roles(lender, *ALL_ROLES)
    await set_roles(borrower)
    stake = {**borrower.headers, "X-Capability-Token": await issue(lender, "staking.manage", borrower)}
    refused = await registry.post("/staking/stake", json={"amount": "10"}, headers=stake)
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "PERMISSION_MISSING")
    delegate = {**borrower.headers, "X-Capability-Token": await issue(lender, "authz.delegate", borrower)}
    body = {"caveats": {"permissions": ["authz.delegate"]}}
    refused = await registry.post("/agents/capabilities", json=body, headers=delegate)
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "PERMISSION_MISSING")


async def test_a_borrowed_right_is_not_delegated_on_as_ones_own(registry: TestRegistry, owner: TestDeveloper):
    lender, borrower = await owner.agent(name="Lender"), await owner.agent(name="Borrower")
    await set_roles(borrower, "service-provider")
    token = await issue(lender, "teg.transfer", borrower)
    body = {"caveats": {"permissions": ["teg.transfer"]}}
    headers = {**borrower.headers, "X-Capability-Token": token}
    refused = await registry.post("/agents/capabilities", json=body, headers=headers)
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "CAPABILITY_NOT_HELD")


async def test_an_empty_capability_header_does_not_bypass_the_roles(
    registry: TestRegistry, owner: TestDeveloper
):
    payer, payee = await owner.agent(name="Payer"), await registry.agent()
    await set_roles(payer)
    for shown in ("", " ", "att_", payer.token[:100]):
        for route, receiver in (("/teg/transfer", "receiver_agent_id"), ("/teg/send", "receiver_did")):
            for more in ({}, {"dry_run": True}) if route == "/teg/send" else ({},):
                answer = await registry.post(
                    route,
                    json={receiver: payee.did, "amount": "1", **more},
                    headers={**payer.headers, "X-Capability-Token": shown},
                )
                assert (answer.status_code, answer.json()["error"]["code"]) == (403, "CAPABILITY_UNKNOWN")
