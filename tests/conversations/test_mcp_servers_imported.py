"""Imports of MCP servers: a server.json becomes a card, each error has its pointer, and nobody lists servers without end."""

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.errors import Unavailable
from hansa.rooms.catalogue import namespaces
from hansa.rooms.catalogue.owning.create import require_room_for_unverified
from tests.outside import Speech, host, say
from tests.registry import TestDeveloper, TestRegistry, at_once

REMOTE = {"type": "streamable-http", "url": "https://mcp.example.com/mcp"}
IMPORT = "/agent-cards/import-mcp"


@pytest.fixture
async def registry(start_registry) -> TestRegistry:
    return await start_registry()


def server(name: str = "com.example/weather", **members: Any) -> dict[str, Any]:
    stated = {"name": name, "description": "Forecasts.", "version": "1.2.0", "remotes": [REMOTE], **members}
    return {key: value for key, value in stated.items() if value is not None}


async def imported(owner: TestDeveloper, document: Any = None, status: int = 201, **members: Any) -> Any:
    body = {"server_json": document or server(), **members}
    answer = await owner.registry.post(IMPORT, json=body, headers=owner.headers)
    assert answer.status_code == status, answer.text
    return answer.json()


async def test_a_remote_becomes_an_interface_and_what_cannot_be_called_is_only_shown(registry):
    owner = await registry.developer()
    remotes = [
        REMOTE,
        {"type": "sse", "url": "https://mcp.example.com/sse"},
        {"type": "streamable-http", "url": "http://mcp.example.com/plain"},
        {"type": "streamable-http", "url": "https://{tenant}.example.com/mcp", "variables": {"tenant": {}}},
        {"type": "streamable-http", "url": "{base}/mcp"},
        {"type": "streamable-http", "url": "https://mcp.example.com/{tenant}/mcp"},
        {"type": "streamable-http", "url": "https://b.example.com/mcp", "variables": {"tenant": {}}},
    ]
    packages = [
        {
            "registryType": "npm",
            "identifier": "weather",
            "transport": {"type": "streamable-http", "url": "http://127.0.0.1:{port}/mcp"},
        }
    ]
    document = server(title="Weather", remotes=remotes, packages=packages, websiteUrl="https://example.com")
    previewed = await imported(owner, document, 200, dry_run=True)
    assert previewed["called"] == [REMOTE["url"]]
    assert previewed["unverifiable"] is None
    assert (await imported(owner, server("io.github/weather"), 200, dry_run=True))["unverifiable"]
    assert (await registry.get("/agent-cards/")).json()["pagination"]["total_items"] == 0

    card = await imported(owner, document)
    assert card["card_data"] | {"humanReadableId": ""} == previewed["card_data"] | {"humanReadableId": ""}
    assert (card["did"], card["name"], card["description"]) == (None, "Weather", "Forecasts.")
    (interface,) = card["card_data"]["supportedInterfaces"]
    assert (interface["url"], interface["protocolBinding"]) == (REMOTE["url"], "MCP")
    stated = card["card_data"]["mcp_server"]
    assert (stated["remotes"], stated["packages"]) == (remotes, packages)
    shown = card["mcp_server"]
    assert (shown["name"], shown["verified"], shown["verified_at"]) == ("com.example/weather", False, None)
    assert shown["proof"]["txt_name"] == "example.com"
    assert shown["proof"]["txt_value"].startswith("hansa-verify=")
    assert shown["proof"]["well_known"] == "https://example.com/.well-known/hansa-verify"

    # The owner's edits leave the statements of the server to the registry.
    changed = {**card["card_data"], "description": "Better.", "mcp_server": {"name": "com.google/search"}}
    edited = await registry.http.put(
        f"/api/v1/agent-cards/{card['id']}", json={"card_data": changed}, headers=owner.headers
    )
    assert edited.status_code == 200, edited.text
    assert edited.json()["card_data"]["mcp_server"] == stated

    # In the MCP registry API the server keeps its remotes and packages.
    (entry,) = (await registry.http.get("/v0.1/servers")).json()["servers"]
    assert (entry["server"]["remotes"], entry["server"]["packages"]) == (remotes, packages)
    own = next(value for key, value in entry["_meta"].items() if key.endswith("/card"))
    assert own == {
        "card_id": card["id"],
        "imported_name": "com.example/weather",
        "namespace_verified": False,
    }


async def test_an_own_agent_gets_the_interface_beside_its_others(registry):
    owner = await registry.developer()
    agent = await owner.agent(name="Weaver")
    before = (await registry.get(f"/agent-cards/{agent.did}")).json()
    for again in range(2):
        card = await imported(owner, agent_did=agent.did)
        bindings = [one["protocolBinding"] for one in card["card_data"]["supportedInterfaces"]]
        assert bindings[-1:] == ["MCP"], again
        assert bindings.count("MCP") == 1, again
        assert (card["id"], card["name"], card["did"]) == (before["id"], "Weaver", agent.did)
        assert card["card_data"]["skills"] == before["card_data"]["skills"]
    (entry,) = (await registry.http.get("/v0.1/servers")).json()["servers"]
    addresses = [remote["url"] for remote in entry["server"]["remotes"]]
    assert addresses == [f"{registry.settings.base_url}/mcp/agents/{card['id']}", REMOTE["url"]]
    other = await registry.developer()
    assert (await imported(other, status=403, agent_did=agent.did))["error"]["code"] == "NOT_THE_OWNER"
    assert (await imported(other, status=404, agent_did=f"{agent.did[:-4]}0000"))["error"][
        "code"
    ] == "AGENT_NOT_HERE"


async def test_a_search_finds_cards_by_their_protocol(registry):
    owner = await registry.developer()
    for name in ("Weather of agents", "Weather of both"):
        agent = await owner.agent(name=name)
    await imported(owner, agent_did=agent.did)
    listing = await imported(owner, server(title="Weather of a server"))
    only = await owner.agent(
        name="Weather of tools",
        supportedInterfaces=[{"url": REMOTE["url"], "protocolBinding": "mcp", "protocolVersion": "1"}],
    )
    assert only.did
    await registry.indexed()
    both = {"Weather of both"}
    servers, agents = {"Weather of a server", "Weather of tools"}, {"Weather of agents"}
    for path, protocol, found in (
        ("/agent-cards/discover?q=weather", "mcp", servers | both),
        ("/agent-cards/discover?q=weather", "a2a", agents | both),
        ("/agent-cards/discover?q=weather", None, servers | agents | both),
        ("/discover?query=weather", "mcp", {"Weather of tools"} | both),
        ("/discover?query=weather", "a2a", agents | both),
    ):
        answer = await registry.get(path + (f"&protocol={protocol}" if protocol else ""))
        assert {one["name"] for one in answer.json()["results"]} == found, (path, protocol)
    assert (await registry.get("/agent-cards/discover?protocol=grpc")).status_code == 422
    # The listing gets an interface of another kind: the next search knows it.
    changed = {
        **{
            name: member
            for name, member in listing["card_data"].items()
            if name not in {"url", "preferredTransport", "protocolVersion", "additionalInterfaces"}
        },
        "supportedInterfaces": [
            {"url": "https://a.example.com/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
        ],
    }
    edited = await registry.http.put(
        f"/api/v1/agent-cards/{listing['id']}", json={"card_data": changed}, headers=owner.headers
    )
    assert edited.status_code == 200, edited.text
    await registry.indexed()
    answer = await registry.get("/agent-cards/discover?q=weather&protocol=mcp")
    assert {one["name"] for one in answer.json()["results"]} == {"Weather of tools"} | both


async def test_a_repeated_import_stores_one_card(registry):
    owner = await registry.developer()

    async def keyed(document: Any, key: str = "once") -> Any:
        headers = {**owner.headers, "Idempotency-Key": key}
        return await registry.post(IMPORT, json={"server_json": document}, headers=headers)

    first, again = await keyed(server()), await keyed(server())
    assert (first.status_code, again.status_code) == (201, 201), again.text
    assert (again.json(), again.headers["location"]) == (first.json(), first.headers["location"])
    assert again.headers["idempotent-replayed"] == "true"
    assert (await keyed(server("com.example/other"))).json()["error"]["code"] == "IDEMPOTENCY_KEY_REUSED"
    assert (await keyed(server(), "twice")).json()["id"] != first.json()["id"]


REFUSED = [
    (server(name="weather"), "/name"),
    (server(name="com.example/a/b"), "/name"),
    (server(description=None), "/description"),
    (server(description="x" * 101), "/description"),
    (server(version="latest"), "/version"),
    (server(version="^1.2"), "/version"),
    (server(title=""), "/title"),
    (server(websiteUrl="javascript:alert(1)"), "/websiteUrl"),
    (server(repository="https://example.com"), "/repository"),
    (server(remotes=None), "/remotes"),
    (server(remotes={}), "/remotes"),
    (server(remotes=[REMOTE] * 33), "/remotes"),
    (server(remotes=["https://example.com"]), "/remotes/0"),
    (server(remotes=[{"type": "streamable-http", "url": "https://10.0.0.1/mcp"}]), "/remotes/0/url"),
    (server(remotes=[REMOTE, {"type": "sse", "url": "https://localhost/"}]), "/remotes/1/url"),
    (server(remotes=[REMOTE, {"type": "sse", "url": "https://a:b@example.com/"}]), "/remotes/1/url"),
    (server(remotes=[{"type": "stdio", "url": "https://example.com/"}]), "/remotes/0/type"),
    (server(remotes=[{"type": "sse", "url": "https://mcp.example.com/sse"}]), "/remotes"),
    (server(packages=[{"identifier": "weather"}]), "/packages/0/registryType"),
    (server(description="fore\u202ecasts"), "/description"),
    (server(title="a\u2028b"), "/title"),
    (server(title="a\x1bb"), "/title"),
    (server(repository={"url": "x" * 3000}), "/repository/url"),
    (server(packages=[{"a/b~": "\x01"}]), "/packages/0/a~1b~0"),
    (server(repository={"url": "https://example.com", "more": "x" * 70_000}), ""),
    ({"server": server(name="weather")}, "/server/name"),
    (server(remotes=json.loads("[" * 40 + "]" * 40)), ""),
]


async def test_each_error_of_a_document_has_its_pointer_and_nothing_is_stored(registry):
    owner = await registry.developer()
    for document, pointer in REFUSED:
        refused = await imported(owner, document, 422)
        assert refused["error"]["code"] == "SERVER_JSON_INVALID", refused
        errors = [one["pointer"] for one in refused["error"]["context"]["errors"]]
        assert f"/server_json{pointer}" in errors, (pointer, errors)
    for body in (
        {},
        {"server_json": server(), "url": "https://example.com/"},
        {"server_json": server(), "x": 1},
    ):
        answer = await registry.post(IMPORT, json=body, headers=owner.headers)
        assert answer.status_code == 422, answer.text
    narrow = await owner.api_key("profile:read")
    assert (
        await registry.post(IMPORT, json={"server_json": server()}, headers=narrow.headers)
    ).status_code == 403
    assert (await registry.post(IMPORT, json={"server_json": server()})).status_code == 401
    assert (await registry.get("/agent-cards/")).json()["pagination"]["total_items"] == 0


@asynccontextmanager
async def _hosts(speeches: list[Speech]) -> AsyncIterator[list[int]]:
    async with AsyncExitStack() as stack:
        yield [(await stack.enter_async_context(host(speech))).port for speech in speeches]


async def test_a_document_is_read_from_its_address_by_the_guard(start_registry):
    served = {"server": server(), "_meta": {}}

    def said(status: int, body: bytes, *headers: str) -> Any:
        lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(body)}", "Connection: close", *headers]
        return say("\r\n".join(lines).encode() + b"\r\n\r\n" + body)

    cases = [
        (said(200, json.dumps(served).encode()), 201),
        (said(200, b"<html>"), 422),
        (said(302, b"", "Location: https://example.com/server.json"), 422),
        (said(200, b"[" + b" " * 300_000 + b"]"), 422),
        (said(404, b"{}"), 422),
        (said(200, b"[1]"), 422),
    ]
    async with _hosts([speech for speech, _ in cases]) as ports:
        places = [f"127.0.0.1:{port}" for port in ports]
        registry = await start_registry(outgoing_allow_user_hosts=",".join(places))
        owner = await registry.developer()
        for place, (_, status) in zip(places, cases, strict=True):
            answer = await registry.post(IMPORT, json={"url": f"http://{place}/s"}, headers=owner.headers)
            assert answer.status_code == status, (place, answer.text)
            if status != 201:
                assert answer.json()["error"]["context"]["errors"][0]["pointer"] == "/url"
        for closed in (
            "http://127.0.0.1:1/s",
            "https://10.0.0.1/s",
            "file:///etc/passwd",
            "https://example.com:25/",
        ):
            answer = await registry.post(IMPORT, json={"url": closed}, headers=owner.headers)
            assert answer.status_code == 422, answer.text


async def test_a_developer_has_20_servers_without_a_verified_namespace_at_most(registry):
    owner = await registry.developer()
    cards = [await imported(owner, server(f"com.example/s{number}")) for number in range(18)]
    answers = await at_once(
        *(
            registry.post(IMPORT, json={"server_json": server(f"com.example/p{n}")}, headers=owner.headers)
            for n in range(6)
        )
    )
    assert sorted(one.status_code for one in answers) == [201, 201, 429, 429, 429, 429]
    refused = next(one for one in answers if one.status_code == 429)
    assert refused.json()["error"]["code"] == "QUOTA_REACHED"
    # Who counts while another import is open waits for its end.
    developer_id = cards[0]["developer_id"]

    async def waits(tx: Tx) -> None:
        await tx.execute("SET LOCAL lock_timeout = '50ms'")
        await require_room_for_unverified(tx, developer_id, None)

    async def holds(tx: Tx) -> None:
        await require_room_for_unverified(tx, developer_id, cards[0]["card_id"])
        with pytest.raises(Unavailable):
            await registry.database.transaction(waits)

    await registry.database.transaction(
        lambda tx: tx.execute("DELETE FROM catalogue_card WHERE id = $1", cards[1]["card_id"])
    )
    await registry.database.transaction(holds)
    await imported(owner, server("com.example/instead"))
    # A deleted one makes room; it cannot come back into a full house.
    path = f"/api/v1/agent-cards/{cards[0]['id']}"
    assert (await registry.http.delete(path, headers=owner.headers)).status_code == 204
    await imported(owner, server("com.example/next"))
    back = await registry.http.put(path, json={"is_active": True}, headers=owner.headers)
    assert (back.status_code, back.json()["error"]["code"]) == (429, "QUOTA_REACHED")
    await imported(await registry.developer(), server("com.example/other"))


def test_the_namespace_and_the_public_suffixes():
    assert namespaces.domain_of("io.github.User/weather") == "user.github.io"
    urls = ["https://mcp.example.com/mcp"]
    for domain, provable in (
        ("example.com", True),
        ("mcp.example.com", True),
        ("com", False),
        ("ample.com", False),
        ("other.com", False),
        ("a.mcp.example.com", False),
    ):
        assert (namespaces.why_unprovable(domain, urls) is None) == provable, domain
    assert namespaces.why_unprovable("example.com", [*urls, "https://other.net/mcp"])
    for suffix in (
        "co.uk",
        "github.io",
        "ck",
        "www2.ck",
        "xn--55qx5d.cn",
        "kawasaki.jp",
        "any.kawasaki.jp",
        "zz",
    ):
        assert namespaces.is_public_suffix(suffix), suffix
    for name in ("example.co.uk", "user.github.io", "www.ck", "city.kawasaki.jp", "example.zz"):
        assert not namespaces.is_public_suffix(name), name
    text = (namespaces.LIST.parent / "README.md").read_text()
    assert sha256(Path(namespaces.LIST).read_bytes()).hexdigest() in text
