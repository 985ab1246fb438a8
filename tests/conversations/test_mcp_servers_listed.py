"""The MCP registry API: every agent is a server that stock clients of MCP registries find, page by page and version by version."""

from urllib.parse import quote

import pytest

from tests.registry import TestDeveloper, TestRegistry, card_of

BASE = "https://registry.example.org"
SPINNER = "/v0.1/servers/org.example.hansa/acme.spinner/versions"
OFFICIAL = "io.modelcontextprotocol.registry/official"


@pytest.fixture
async def registry(start_registry) -> TestRegistry:
    return await start_registry(public_base_url=BASE, trust_domain="hansa.example.org")


async def servers(registry: TestRegistry, **query) -> dict:
    answer = await registry.http.get("/v0.1/servers", params=query)
    assert answer.status_code == 200, answer.text
    assert answer.headers["access-control-allow-origin"] == "*"
    return answer.json()


def names(page: dict) -> list[str]:
    return [one["server"]["name"] for one in page["servers"]]


async def test_each_agent_is_a_server_with_a_remote_at_this_registry_and_versions(registry):
    owner = await registry.developer()
    long = "Translates " + "very " * 40 + "well."
    first = await owner.agent(name="Weaver", humanReadableId="acme.shop/weaver", description=long)
    second = await owner.agent(name="Spinner", humanReadableId="acme/spinner")
    shadowed = await owner.agent(name="Shadow", humanReadableId="acme/shop.weaver")
    assert shadowed.did

    page = await servers(registry)
    assert names(page) == ["org.example.hansa/acme.shop.weaver", "org.example.hansa/acme.spinner"]
    entry = page["servers"][0]
    server, official = entry["server"], entry["_meta"][OFFICIAL]
    card = (await registry.get(f"/agent-cards/{first.did}")).json()
    assert server["remotes"] == [{"type": "streamable-http", "url": f"{BASE}/mcp/agents/{card['id']}"}]
    assert (server["version"], server["title"]) == ("1.0.1", "Weaver")
    assert 0 < len(server["description"]) <= 100
    assert server["description"].startswith("Translates very")
    assert server["$schema"].startswith("https://static.modelcontextprotocol.io/schemas/")
    assert (official["status"], official["isLatest"]) == ("active", True)
    assert set(official) == {"status", "statusChangedAt", "publishedAt", "updatedAt", "isLatest"}
    assert entry["_meta"]["org.example.hansa/card"]["did"] == first.did

    # Pages: an opaque cursor, absent on the last page.
    one = await servers(registry, limit=1)
    assert names(one) == names(page)[:1]
    assert one["metadata"]["count"] == 1
    two = await servers(registry, limit=1, cursor=one["metadata"]["nextCursor"])
    assert names(two) == names(page)[1:]
    assert "nextCursor" not in two["metadata"]
    assert names(await servers(registry, search="SPINN")) == ["org.example.hansa/acme.spinner"]
    assert names(await servers(registry, search="%")) == []

    # A changed document is another version of the server; former ones stay readable.
    between = official["updatedAt"]
    changed = card_of("Spinner", humanReadableId="acme/spinner", description="Spins.")
    edited = await registry.http.put(
        f"/api/v1/agent-cards/{second.did}", json={"card_data": changed}, headers=owner.headers
    )
    assert edited.status_code == 200, edited.text
    for written in ("org.example.hansa/acme.spinner", quote("org.example.hansa/acme.spinner", safe="")):
        address = f"/v0.1/servers/{written}/versions"
        history = (await registry.http.get(address)).json()["servers"]
        assert [one["server"]["version"] for one in history] == ["1.0.2", "1.0.1"]
        assert [one["_meta"][OFFICIAL]["isLatest"] for one in history] == [True, False]
        assert (await registry.http.get(f"{address}/latest")).json() == history[0]
        assert (await registry.http.get(f"{address}/1.0.1")).json() == history[1]
    assert history[0]["server"]["description"] == "Spins."
    assert names(await servers(registry, updated_since=between))[-1] == "org.example.hansa/acme.spinner"
    assert names(await servers(registry, updated_since="2999-01-01T00:00:00Z")) == []
    assert names(await servers(registry, version="latest")) == names(page)
    (old,) = (await servers(registry, version="1.0.2"))["servers"]
    assert old["server"]["name"] == "org.example.hansa/acme.spinner"
    assert (await servers(registry, version="2.0.0"))["servers"] == []

    await _hide(registry, owner, second.did, names(page)[:1], between)


async def _hide(registry: TestRegistry, owner: TestDeveloper, did: str, left: list[str], before: str) -> None:
    """A hidden card leaves the list; its name stays for those who hold a copy, its text does not."""
    hide = await registry.http.patch(
        f"/api/v1/agent-cards/{did}/listing", json={"unlisted": True}, headers=owner.headers
    )
    assert hide.status_code == 200, hide.text
    assert names(await servers(registry)) == left
    for query in ({"include_deleted": True}, {"updated_since": before}):
        gone = (await servers(registry, **query))["servers"][-1]
        assert gone["_meta"][OFFICIAL]["status"] == "deleted"
        assert gone["server"]["name"] == "org.example.hansa/acme.spinner"
        assert "Spin" not in gone["server"]["description"]
        assert "remotes" not in gone["server"]
        assert "title" not in gone["server"]
    assert (await registry.http.get(f"{SPINNER}/latest")).status_code == 404
    (kept,) = (await registry.http.get(SPINNER, params={"include_deleted": True})).json()["servers"]
    assert kept["_meta"][OFFICIAL]["status"] == "deleted"


async def test_a_name_a_version_or_a_cursor_that_is_not_there_is_refused(registry):
    await registry.agent(name="Weaver", humanReadableId="acme/weaver")
    for path, status in (
        ("/org.example.hansa%2Fnobody/versions", 404),
        ("/org.example.other/acme.weaver/versions", 404),
        ("/org.example.hansa/acme.weaver/versions/1.0.2", 404),
        ("/org.example.hansa/acme.weaver/versions/newest", 404),
        ("/org.example.hansa/acme.weaver/versions/1.0.99999999999", 404),
        ("?cursor=%21", 422),
        ("?cursor=LTE", 422),
        ("?limit=101", 422),
        ("?updated_since=yesterday", 422),
    ):
        answer = await registry.http.get(f"/v0.1/servers{path}")
        assert answer.status_code == status, (path, answer.text)
