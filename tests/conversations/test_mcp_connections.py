"""Tools for a client that a person has connected: its scopes, its agent and its limits (specification 8, section 2)."""

from typing import Any

import pytest

from hansa.rooms import people
from tests.connections import ConnectedClient, connect
from tests.conversations.mcp_client import McpClient
from tests.registry import TestAgent, TestRegistry

PAYING = ("mcp:read", "wallet:read", "wallet:pay", "contracts:act")
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}


@pytest.fixture
def registry(registry_of_file: TestRegistry) -> TestRegistry:
    return registry_of_file


@pytest.fixture
async def payee(registry: TestRegistry) -> TestAgent:
    return await registry.agent(name="Payee")


async def connected(registry: TestRegistry, *scopes: str, **limits: Any) -> tuple[ConnectedClient, McpClient]:
    bounds = {"per_call": "5", "per_day": "10", "ask_above": "5", **limits}
    client = await connect(registry, *(scopes or PAYING), **bounds)
    return client, McpClient(registry, client.access_token)


async def previewed(tools: McpClient, payee: TestAgent, amount: str) -> str:
    return (await tools.done("preview_transfer", receiver=payee.did, amount=amount))["intent"]


async def test_a_connection_has_the_tools_of_the_scopes_that_the_person_ticked(registry: TestRegistry):
    _, tools = await connected(registry, "mcp:read", "wallet:read")
    assert [tool["name"] for tool in await tools.tools()] == [
        *("find_agents", "list_my_agents", "list_tokens", "list_transactions"),
        *("read_agent", "read_balance", "read_registry", "verify"),
    ]


async def test_a_tool_beyond_the_scopes_is_refused_with_all_that_it_needs(registry: TestRegistry):
    _, tools = await connected(registry, "mcp:read", "wallet:read")
    answer = await tools.send(
        "tools/call", {"name": "send_units", "arguments": {"intent": "int_" + "0" * 32}}
    )
    assert answer.status_code == 403
    challenge = answer.headers["www-authenticate"]
    assert 'error="insufficient_scope", scope="mcp:read wallet:pay wallet:read"' in challenge
    assert "resource_metadata=" in challenge


async def test_a_connection_acts_as_its_agent_alone(registry: TestRegistry):
    client, tools = await connected(registry)
    assert client.agent
    other = await client.developer.agent(name="Other")
    assert (await tools.done("read_balance"))["agent_id"] == client.agent.did
    assert (await tools.done("read_balance", as_=client.agent.did))["agent_id"] == client.agent.did
    assert (await tools.refused("read_balance", as_=other.did))["status"] == 404


async def test_a_connection_without_an_agent_reads_and_cannot_act(registry: TestRegistry):
    client, tools = await connected(registry, "mcp:read", "wallet:read")
    own = await client.developer.agent(name="Own")
    assert [one["did"] for one in (await tools.done("list_my_agents"))["items"]] == [own.did]
    for named in ({}, {"as_": own.did}):
        assert (await tools.refused("read_balance", **named))["code"] == "CONNECTED_WITHOUT_AGENT"


async def test_a_payment_within_the_limits_is_made_and_counted(registry: TestRegistry, payee: TestAgent):
    client, tools = await connected(registry)
    intent = await previewed(tools, payee, "4")
    assert (await tools.done("send_units", intent=intent))["status"] == "completed"
    assert await client.spent() == "4"


async def test_a_payment_over_the_limit_per_call_is_refused(registry: TestRegistry, payee: TestAgent):
    client, tools = await connected(registry, per_call="2")
    refused = await tools.refused("preview_transfer", receiver=payee.did, amount="3")
    assert refused["code"] == "SPEND_OVER_PER_TX_MAX"
    assert await client.spent() == "0"


async def test_a_payment_above_the_bound_waits_for_the_owner_in_a_browser(
    registry: TestRegistry, payee: TestAgent
):
    client, tools = await connected(registry, ask_above="1")
    intent = await previewed(tools, payee, "2")
    waiting = await tools.done("send_units", intent=intent)
    assert waiting["status"] == "approval_required"
    assert await tools.done("send_units", intent=intent) == waiting
    path = waiting["approve_url"].removeprefix(registry.settings.base_url)
    await client.browser.open(path)
    await client.browser.send(f"{path}/approve")
    other = await previewed(tools, payee, "2")
    assert (await tools.done("send_units", intent=other))["status"] == "approval_required"
    assert (await tools.done("send_units", intent=intent))["status"] == "completed"
    assert await client.spent() == "2"


async def test_an_intent_of_another_connection_of_the_same_agent_is_unknown(
    registry: TestRegistry, payee: TestAgent
):
    client, tools = await connected(registry)
    second = await connect(registry, *PAYING, developer=client.developer, agent=client.agent)
    intent = await previewed(tools, payee, "1")
    other = McpClient(registry, second.access_token)
    assert (await other.refused("send_units", intent=intent))["code"] == "INTENT_UNKNOWN"


async def test_a_connection_that_has_ended_is_nobody(registry: TestRegistry):
    client, tools = await connected(registry)
    (row,) = await client.connections()
    ended = await registry.http.delete(
        f"/api/v1/auth/connections/{row['id']}", headers=client.developer.headers
    )
    assert ended.status_code == 200, ended.text
    answer = await tools.post(LIST)
    assert answer.status_code == 401
    assert 'error="invalid_token"' in answer.headers["www-authenticate"]


async def test_the_public_tools_are_left_to_a_client_of_a_suspended_person(registry: TestRegistry):
    client, tools = await connected(registry)
    admin = await registry.administrator("admin_enforcement")
    profile = (await registry.get("/auth/profile", headers=client.developer.headers)).json()
    path = f"/admin/developers/{profile['id']}/suspend"
    assert (await registry.post(path, json={"reason": "Fraud."}, headers=admin.headers)).status_code == 200
    assert (await tools.refused("read_balance"))["code"] == "DEVELOPER_SUSPENDED"
    assert (await tools.done("read_registry"))["card"]


async def test_no_other_route_takes_the_token_of_a_connection(registry: TestRegistry):
    client, _ = await connected(registry)
    headers = {"Authorization": f"Bearer {client.access_token}"}
    for path in ("/teg/balance", "/agents", "/contracts"):
        assert (await registry.get(path, headers=headers)).status_code == 401


async def test_a_call_of_a_connection_is_logged_with_client_and_grant(registry: TestRegistry):
    client, tools = await connected(registry)
    await tools.done("read_balance")
    await people.write_calls(registry.runtime)
    (row,) = await client.connections()
    logged = await registry.database.query(
        lambda tx: tx.fetchrow(
            "SELECT route, client, grant_id::text, agent_did FROM people_call WHERE grant_id = $1::text::uuid",
            row["id"],
        )
    )
    assert client.agent
    assert tuple(logged) == ("mcp:read_balance", "Test client (unverified)", row["id"], client.agent.did)


async def test_an_agent_gets_a_token_for_the_tools_alone_with_its_secret(registry: TestRegistry):
    agent = await registry.agent(name="Own secret")
    form = {
        "grant_type": "client_credentials",
        "client_id": agent.created["client_id"],
        "client_secret": agent.created["client_secret"],
        "resource": f"{registry.settings.base_url}/mcp",
    }
    answer = await registry.http.post("/oauth/token", data=form, headers=registry.elsewhere())
    assert answer.status_code == 200, answer.text
    token = answer.json()["access_token"]
    assert (await McpClient(registry, token).done("read_balance"))["agent_id"] == agent.did
    refused = await registry.get("/teg/balance", headers={"Authorization": f"Bearer {token}"})
    assert refused.status_code == 401
