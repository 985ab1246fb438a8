"""oauth4webapi, unmodified, finds the server by the resource, registers, logs in a person, refreshes and revokes."""

import asyncio
import json
import shutil
from html import unescape
from pathlib import Path
from re import search

import pytest

from hansa.rooms import people
from tests.browsing import BrowserOf
from tests.doors.served import served
from tests.registry import StartRegistry
from tests.stock_clients.tools import HERE, installed

REDIRECT = "http://127.0.0.1:44321/callback"


async def test_oauth4webapi_logs_in(start_registry: StartRegistry, tmp_path: Path) -> None:
    tools = await asyncio.to_thread(installed)
    script = tools.home / "log_in.mjs"
    shutil.copy(HERE / "log_in.mjs", script)
    async with served(start_registry) as registry:
        browser = await BrowserOf(registry).log_in((await registry.developer()).email)
        errors = tmp_path / "errors"
        with errors.open("wb") as file:
            client = await asyncio.create_subprocess_exec(
                tools.node,
                script,
                registry.settings.base_url,
                REDIRECT,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=file,
            )
        assert client.stdin
        assert client.stdout

        async def said() -> dict[str, str]:
            assert client.stdout
            line = await client.stdout.readline()
            assert line, errors.read_text()
            found: dict[str, str] = json.loads(line)
            return found

        await browser.open((await said())["consent"].removeprefix(registry.settings.base_url))
        await browser.send("/oauth/authorize", decision="allow")
        link = search(r'href="([^"]*)" rel="noreferrer" data-led-back', browser.text)
        assert link, browser.text
        client.stdin.write(f"{unescape(link[1])}\n".encode())
        tokens = await said()
        assert tokens["scope"] == "mcp:read wallet:read"
        connection = await people.access_of(registry.runtime, tokens["access_token"])
        assert connection.client_name == "oauth4webapi"
        client.stdin.write(b"revoke\n")
        assert (await said())["revoked"] is True
        assert await client.wait() == 0
        with pytest.raises(people.AccessTokenRefused):
            await people.access_of(registry.runtime, tokens["access_token"])
