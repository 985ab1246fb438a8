"""Page for people who connect an AI client (specification 8, section 2: page /connect, a line per client)."""

from html import unescape

from tests.browsing import BrowserOf, browser_of
from tests.connections import ConnectedClient, register
from tests.registry import TestRegistry

COMMANDS = (
    "claude mcp add --transport http {name} {tools}",
    'code --add-mcp \'{{"name":"{name}","type":"http","url":"{tools}"}}\'',
    "codex mcp add {name} --url {tools}",
    "gemini mcp add --transport http {name} {tools}",
    "npx mcp-remote {tools}",
)


async def test_each_common_client_has_a_line_with_the_address_of_the_tools(registry: TestRegistry):
    page = await BrowserOf(registry).open("/connect")
    assert page.status_code == 200
    text = unescape(page.text)
    names = {"name": registry.settings.registry_name, "tools": f"{registry.settings.base_url}/mcp"}
    for command in COMMANDS:
        assert command.format(**names) in text
    assert "Connected" not in text


async def test_a_client_is_marked_once_it_was_seen_and_for_its_person_alone(registry: TestRegistry):
    developer = await registry.developer()
    browser = await browser_of(registry, developer)
    registered = await register(registry, client_name="Claude Code")
    client = ConnectedClient(registry, developer, browser, registered.json()["client_id"])
    await client.ask()
    allowed = await client.allow()
    assert ">Connected<" not in (await browser.open("/connect")).text
    assert (await client.exchange(allowed["code"])).status_code == 200
    page = (await browser.open("/connect")).text
    assert page.count(">Connected<") == 1
    assert page.index("<h2>Claude Code</h2>") < page.index(">Connected<") < page.index("<h2>Claude</h2>")
    stranger = await browser_of(registry)
    assert ">Connected<" not in (await stranger.open("/connect")).text
    assert ">Connected<" not in (await BrowserOf(registry).open("/connect")).text
