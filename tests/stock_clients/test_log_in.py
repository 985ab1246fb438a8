"""oauth4webapi, unmodified, finds the server by the resource, registers, logs in a person, refreshes and revokes."""

import asyncio
from html import unescape
from pathlib import Path
from re import search

import pytest

from hansa.rooms import people
from tests.browsing import BrowserOf
from tests.doors.served import served
from tests.registry import StartRegistry
from tests.stock_clients.talking import running_node
from tests.stock_clients.tools import installed

REDIRECT = "http://127.0.0.1:44321/callback"


async def test_oauth4webapi_logs_in(start_registry: StartRegistry, tmp_path: Path) -> None:
    tools = await asyncio.to_thread(installed)
    async with served(start_registry) as registry:
        browser = await BrowserOf(registry).log_in((await registry.developer()).email)
        base = registry.settings.base_url
        async with running_node(tools, "log_in.mjs", base, REDIRECT, errors=tmp_path / "errors") as client:
            await browser.open((await client.said())["consent"].removeprefix(base))
            await browser.send("/oauth/authorize", decision="allow")
            link = search(r'href="([^"]*)" rel="noreferrer" data-led-back', browser.text)
            assert link, browser.text
            client.send(unescape(link[1]))
            tokens = await client.said()
            assert tokens["scope"] == "mcp:read wallet:read"
            connection = await people.access_of(registry.runtime, tokens["access_token"])
            assert connection.client_name == "oauth4webapi"
            client.send("revoke")
            assert (await client.said())["revoked"] is True
            assert await client.ended() == 0
        with pytest.raises(people.AccessTokenRefused):
            await people.access_of(registry.runtime, tokens["access_token"])
