"""The addresses of the tools: who may enter, from where, and how a message is refused (specification 8, section 2)."""

import pytest

from hansa.doors.mcp import PROTOCOL
from tests.conversations.mcp_client import HANDSHAKE_REVISION, MODERN_REVISION, McpClient
from tests.registry import StartRegistry, TestAgent, TestDeveloper, TestRegistry

LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
PUBLIC = ["find_agents", "read_agent", "read_registry", "verify"]
ALL = sorted(
    [
        *PUBLIC,
        "list_my_agents",
        *("read_balance", "list_transactions", "list_tokens"),
        *("preview_call", "preview_transfer", "buy_call", "send_units", "release_token"),
        *("list_contracts", "read_contract", "propose_contract", "accept_contract", "submit_work"),
        *("approve_work", "request_changes", "reject_work", "cancel_contract"),
        *("file_dispute", "add_evidence", "read_dispute"),
        *("start_run", "read_run", "resume_run", "cancel_run"),
        *("open_ticket", "reply_ticket"),
    ]
)


@pytest.fixture
def registry(registry_of_file: TestRegistry) -> TestRegistry:
    return registry_of_file


@pytest.fixture
async def owner(registry: TestRegistry) -> TestDeveloper:
    return await registry.developer()


@pytest.fixture
async def agent(owner: TestDeveloper) -> TestAgent:
    return await owner.agent(name="Caller")


async def test_without_a_credential_the_challenge_names_the_metadata_and_the_least_scope(
    registry: TestRegistry,
):
    answer = await McpClient(registry).post(LIST)
    assert answer.status_code == 401
    metadata = f"{registry.settings.base_url}/.well-known/oauth-protected-resource/mcp"
    assert answer.headers["www-authenticate"] == f'Bearer resource_metadata="{metadata}", scope="mcp:read"'


async def test_the_address_for_clients_with_a_bearer_names_no_metadata(registry: TestRegistry):
    answer = await McpClient(registry, path="/mcp/rpc").post(LIST)
    assert answer.status_code == 401
    assert "resource_metadata" not in answer.headers["www-authenticate"]


@pytest.mark.parametrize("path", ["/mcp", "/mcp/rpc"])
async def test_a_credential_that_is_none_is_refused_as_an_invalid_token(registry: TestRegistry, path: str):
    answer = await McpClient(registry, "nonsense", path).post(LIST)
    assert answer.status_code == 401
    assert 'error="invalid_token"' in answer.headers["www-authenticate"]


async def test_the_public_address_asks_nobody_for_a_credential(registry: TestRegistry):
    client = McpClient(registry, path="/mcp/public", headers=registry.elsewhere())
    assert [tool["name"] for tool in await client.tools()] == PUBLIC
    assert (await client.done("read_registry"))["card"]["identity"]["registry_name"] == "hansa"


async def test_the_public_address_ignores_a_credential(registry: TestRegistry, agent: TestAgent):
    client = McpClient(registry, agent.token, "/mcp/public", headers=registry.elsewhere())
    assert [tool["name"] for tool in await client.tools()] == PUBLIC


async def test_the_public_address_takes_sixty_requests_a_minute_of_one_address(registry: TestRegistry):
    client = McpClient(registry, path="/mcp/public", headers=registry.elsewhere())
    statuses = [(await client.post(LIST)).status_code for _ in range(61)]
    assert statuses == [*[200] * 60, 429]


@pytest.mark.parametrize("revision", [HANDSHAKE_REVISION, "2025-06-18", "2025-03-26", MODERN_REVISION])
@pytest.mark.parametrize("path", ["/mcp", "/mcp/rpc"])
async def test_an_agent_lists_every_tool_by_name_in_each_revision(
    registry: TestRegistry, agent: TestAgent, path: str, revision: str
):
    client = McpClient(registry, agent.token, path, revision)
    assert [tool["name"] for tool in await client.tools()] == ALL


async def test_a_list_is_private_and_fresh_for_five_minutes_and_public_where_anyone_may_read_it(
    registry: TestRegistry, agent: TestAgent
):
    own = await McpClient(registry, agent.token, revision=MODERN_REVISION).result("tools/list")
    assert (own["ttlMs"], own["cacheScope"]) == (300_000, "private")
    anyone = McpClient(registry, None, "/mcp/public", MODERN_REVISION, registry.elsewhere())
    listed = await anyone.result("tools/list")
    assert (listed["ttlMs"], listed["cacheScope"]) == (300_000, "public")


@pytest.mark.parametrize("revision", ["2025-03-26", "2025-06-18", "2025-11-25"])
async def test_a_handshake_settles_on_the_revision_that_is_asked_for(
    registry: TestRegistry, agent: TestAgent, revision: str
):
    params = {"protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    result = await McpClient(registry, agent.token, revision=revision).result("initialize", params)
    assert result["protocolVersion"] == revision
    assert set(result["capabilities"]) == {"tools"}
    assert result["serverInfo"]["name"] == "hansa"


async def test_the_newest_revision_is_discovered_without_a_handshake(
    registry: TestRegistry, agent: TestAgent
):
    result = await McpClient(registry, agent.token, revision=MODERN_REVISION).result("server/discover")
    assert result["supportedVersions"] == [MODERN_REVISION]
    assert set(result["capabilities"]) == {"tools"}


@pytest.mark.parametrize("path", ["/mcp", "/mcp/rpc", "/mcp/public"])
@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
async def test_other_methods_are_not_allowed(registry: TestRegistry, path: str, method: str):
    answer = await registry.http.request(method, path)
    assert answer.status_code == 405
    assert "POST" in answer.headers["allow"]


async def test_a_batch_is_refused(registry: TestRegistry, agent: TestAgent):
    answer = await McpClient(registry, agent.token).post([LIST, LIST])
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == -32600


@pytest.mark.parametrize("revision", [HANDSHAKE_REVISION, MODERN_REVISION, "1999-01-01"])
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"null",
        b"5",
        b'"x"',
        b"{}",
        b'{"jsonrpc": "2.0"}',
        b'{"jsonrpc": "1.0", "id": 1, "method": "tools/list"}',
        b'{"jsonrpc": "2.0", "id": {}, "method": "tools/list"}',
        b'{"jsonrpc": "2.0", "id": 1, "method": 7}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "nothing/such"}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call"}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": []}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": 5, "arguments": {}}}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "verify", "arguments": 5}}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "method": "ping"}',
        b'{"jsonrpc": "2.0", "id": 1, "result": {}}',
        b'{"jsonrpc": "2.0", "id": 1e999, "method": "ping"}',
        b'{"jsonrpc": "2.0", "id": "\\ud800", "method": "ping"}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": {}}',
        b"[" * 100_000,
    ],
)
async def test_a_message_that_makes_no_sense_is_never_an_error_of_the_registry(
    registry: TestRegistry, agent: TestAgent, revision: str, content: bytes
):
    answer = await McpClient(registry, agent.token, revision=revision).post(content)
    assert answer.status_code < 500, answer.text


async def test_an_unknown_tool_is_an_error_of_the_protocol(registry: TestRegistry, agent: TestAgent):
    answer = await McpClient(registry, agent.token).send("tools/call", {"name": "none", "arguments": {}})
    assert answer.json()["error"]["code"] == -32602


async def test_a_foreign_origin_is_refused_before_the_credential(registry: TestRegistry):
    for origin in ("https://evil.example", "null", registry.settings.base_url + ".evil.example"):
        answer = await McpClient(registry).post(LIST, Origin=origin)
        assert answer.status_code == 403
        assert answer.json()["error"]["code"] == "ORIGIN_REFUSED"
        assert "access-control-allow-origin" not in answer.headers


async def test_the_own_origin_is_allowed(registry: TestRegistry, agent: TestAgent):
    answer = await McpClient(registry, agent.token).post(LIST, Origin=registry.settings.base_url)
    assert answer.status_code == 200


async def test_a_named_origin_may_call_and_read_the_answer(start_registry: StartRegistry):
    registry = await start_registry(mcp_allowed_origins="https://chat.example.org,https://other.example.org")
    client = McpClient(registry, (await registry.agent()).token)
    answer = await client.post(LIST, Origin="https://chat.example.org")
    assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] == "https://chat.example.org"
    preflight = await registry.http.options("/mcp", headers={"Origin": "https://chat.example.org"})
    assert preflight.status_code == 204
    assert "Authorization" in preflight.headers["access-control-allow-headers"]
    refused = await registry.http.options("/mcp", headers={"Origin": "https://evil.example"})
    assert refused.status_code == 403


async def test_a_challenge_can_be_read_by_a_page_of_a_named_origin(start_registry: StartRegistry):
    registry = await start_registry(mcp_allowed_origins="https://chat.example.org")
    answer = await McpClient(registry).post(LIST, Origin="https://chat.example.org")
    assert answer.status_code == 401
    assert answer.headers["access-control-allow-origin"] == "https://chat.example.org"
    assert "www-authenticate" in answer.headers["access-control-expose-headers"].lower()


async def test_a_registry_without_tools_has_none_of_the_addresses(start_registry: StartRegistry):
    registry = await start_registry(mcp_enabled="false")
    for path in ("/mcp", "/mcp/rpc", "/mcp/public"):
        assert (await McpClient(registry, path=path).post(LIST)).status_code == 404


async def test_the_registry_card_names_the_address_where_there_are_tools(start_registry: StartRegistry):
    for is_enabled in (True, False):
        registry = await start_registry(mcp_enabled=str(is_enabled).lower())
        card = (await registry.get("/public/registry-card")).json()["card"]
        assert card["endpoints"].get("mcp") == (f"{registry.settings.base_url}/mcp" if is_enabled else None)


async def test_until_the_tools_are_loaded_a_client_is_asked_to_return(start_registry: StartRegistry):
    registry = await start_registry()
    agent = await registry.agent()
    answer = await registry.http.post("/mcp", json=LIST, headers=agent.headers)
    assert answer.status_code == 503
    assert answer.json()["error"]["code"] == "MCP_LOADING"
    assert answer.headers["retry-after"] == "1"
    await PROTOCOL.of(registry.runtime).load()
    answer = await registry.http.post(
        "/mcp", json=LIST, headers={**agent.headers, "Accept": "application/json"}
    )
    assert answer.status_code == 200


async def test_a_person_acts_as_an_own_agent_that_it_names(
    registry: TestRegistry, owner: TestDeveloper, agent: TestAgent
):
    for person in (owner, await owner.api_key()):
        client = McpClient(registry, person.token)
        assert (await client.done("read_balance", as_=agent.did))["agent_id"] == agent.did
        assert (await client.refused("read_balance"))["code"] == "ACTING_AGENT_MISSING"


async def test_agents_of_others_and_of_nobody_are_unknown(
    registry: TestRegistry, owner: TestDeveloper, agent: TestAgent
):
    stranger = await registry.agent(name="Stranger")
    for client in (McpClient(registry, owner.token), McpClient(registry, agent.token)):
        for did in (stranger.did, "did:hansa:hansa.local:nobody"):
            assert (await client.refused("read_balance", as_=did))["status"] == 404


async def test_an_agent_has_no_account_of_a_person(registry: TestRegistry, agent: TestAgent):
    assert (await McpClient(registry, agent.token).refused("list_my_agents"))["code"] == "PERSON_REQUIRED"


async def test_a_person_lists_its_agents(registry: TestRegistry, owner: TestDeveloper, agent: TestAgent):
    listed = await McpClient(registry, owner.token).done("list_my_agents")
    assert [one["did"] for one in listed["items"]] == [agent.did]


async def test_a_narrow_key_reads_and_a_tool_with_another_scope_is_refused_before_the_sdk(
    registry: TestRegistry, owner: TestDeveloper, agent: TestAgent
):
    client = McpClient(registry, (await owner.api_key("agents:read")).token)
    assert [tool["name"] for tool in await client.tools()] == sorted([*PUBLIC, "list_my_agents"])
    assert (await client.done("list_my_agents"))["items"]
    answer = await client.send("tools/call", {"name": "send_units", "arguments": {"intent": "x"}})
    assert answer.status_code == 403
    assert answer.json()["error"]["code"] == "INSUFFICIENT_SCOPE"
    challenge = answer.headers["www-authenticate"]
    assert challenge.startswith('Bearer error="insufficient_scope", scope="mcp:read wallet:pay"')
    assert "/.well-known/oauth-protected-resource/mcp" in challenge


async def test_a_key_without_the_scope_of_the_route_gets_the_refusal_of_the_route(
    registry: TestRegistry, owner: TestDeveloper
):
    client = McpClient(registry, (await owner.api_key("profile:read")).token)
    assert (await client.refused("list_my_agents"))["code"] == "SCOPE_MISSING"


async def test_the_gateway_judges_the_scope_of_the_inner_tool(registry: TestRegistry, owner: TestDeveloper):
    client = McpClient(registry, (await owner.api_key("agents:read")).token, "/mcp?mode=gateway")
    inner = {"name": "read_balance", "arguments": {}}
    answer = await client.send("tools/call", {"name": "call_tool", "arguments": inner})
    assert answer.status_code == 403
    assert 'scope="mcp:read wallet:read"' in answer.headers["www-authenticate"]


async def test_the_gateway_has_three_tools_in_place_of_the_list(registry: TestRegistry, agent: TestAgent):
    client = McpClient(registry, agent.token, "/mcp?mode=gateway")
    assert [tool["name"] for tool in await client.tools()] == ["call_tool", "describe_tool", "search_tools"]
    found = (await client.done("search_tools", query="balance"))["tools"]
    assert [tool["name"] for tool in found] == ["read_balance"]
    described = await client.done("describe_tool", name="read_balance")
    assert described["inputSchema"]["type"] == "object"
    assert (await client.done("call_tool", name="read_balance", arguments={}))["balance"] == "100"
    assert (await client.refused("call_tool", name="none", arguments={}))["code"] == "TOOL_UNKNOWN"
    direct = await client.send("tools/call", {"name": "read_balance", "arguments": {}})
    assert direct.json()["error"]["code"] == -32602


async def test_a_suspended_agent_has_the_public_tools_alone(registry: TestRegistry, agent: TestAgent):
    admin = await registry.administrator("admin_enforcement")
    body = {"agent_dids": [agent.did], "reason": "Sold what it did not have."}
    await registry.post("/admin/agents/bulk/suspend", json=body, headers=admin.headers)
    client = McpClient(registry, agent.token)
    assert (await client.refused("read_balance"))["code"] == "AGENT_SUSPENDED"
    assert (await client.done("read_registry"))["card"]


async def test_a_suspended_person_has_the_public_tools_alone(registry: TestRegistry, owner: TestDeveloper):
    admin = await registry.administrator("admin_enforcement")
    profile = (await registry.get("/auth/profile", headers=owner.headers)).json()
    answer = await registry.post(
        f"/admin/developers/{profile['id']}/suspend", json={"reason": "Fraud."}, headers=admin.headers
    )
    assert answer.status_code == 200, answer.text
    client = McpClient(registry, owner.token)
    assert (await client.refused("list_my_agents"))["code"] == "DEVELOPER_SUSPENDED"
    assert (await client.done("read_registry"))["card"]


async def test_a_revoked_agent_is_nobody(registry: TestRegistry, owner: TestDeveloper, agent: TestAgent):
    await agent.transfer(await owner.agent(name="Heir"), "99.502487")
    admin = await registry.administrator("admin_enforcement")
    body = {"agent_dids": [agent.did], "reason": "Sold what it did not have."}
    for act in ("suspend", "revoke"):
        await registry.post(f"/admin/agents/bulk/{act}", json=body, headers=admin.headers)
    assert (await McpClient(registry, agent.token).post(LIST)).status_code == 401


async def test_descriptions_are_constant_and_schemas_closed(registry: TestRegistry, agent: TestAgent):
    for tool in await McpClient(registry, agent.token).tools():
        assert tool["description"]
        assert tool["inputSchema"]["additionalProperties"] is False
        assert "outputSchema" not in tool
        assert set(tool["annotations"]) >= {"readOnlyHint", "destructiveHint"}
