"""Clients of MCP as they are published; their person logs in and consents in a real browser, whose callback is the client's own."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx2
import pytest
from mcp.client.auth import OAuthClientProvider, TokenStorage
from mcp.client.session import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthToken,
)
from playwright.async_api import Page, expect

from hansa.doors.mcp import PROTOCOL
from tests.browser.conftest import OpenPage
from tests.conversations.test_buying import RESULT, Service, interface
from tests.conversations.test_mcp_clients import called
from tests.conversations.test_oauth_client_documents import Answer
from tests.doors.served import served
from tests.operation.registry_process import until
from tests.outside import Authority, Host, host
from tests.paying import Payments
from tests.pinned_tools import PinnedTools
from tests.registry import PASSWORD, StartRegistry, TestAgent, TestDeveloper, TestRegistry
from tests.stock_clients.talking import Program, running_node
from tests.stock_clients.tools import installed

WORD = "Lighthouse"
HANDSHAKE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "bridged", "version": "1"},
}


@pytest.fixture(scope="module")
def tools() -> PinnedTools:
    return installed()


@dataclass
class Documents:
    """A host of the metadata documents of clients, and the authority of its certificate."""

    place: str
    trust: ssl.SSLContext
    answer: Answer

    def of(self, redirect_uri: str) -> str:
        """The address of the document of a client with this redirect address."""
        self.answer.client_id = f"https://{self.place}/client.json"
        self.answer.members = {"redirect_uris": [redirect_uri]}
        return self.answer.client_id


@pytest.fixture
async def documents(tmp_path: Path) -> AsyncIterator[Documents]:
    authority, answer = Authority(), Answer()

    async def speak(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(answer.bytes())

    async with host(speak, tls=authority.server(tmp_path, "localhost")) as listening:
        yield Documents(f"localhost:{listening.port}", authority.trust(), answer)


@pytest.fixture
async def service(start_registry: StartRegistry, documents: Documents) -> AsyncIterator[Service]:
    """A registry that serves, an agent that sells calls at 2.5 units, and a caller of its own developer."""
    kept: list[Service] = []
    listening: Host

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await kept[0].speak(listening.heads[-1], reader, writer)

    async with host(speak) as listening:
        place = f"127.0.0.1:{listening.port}"
        async with served(start_registry, outgoing_allow_user_hosts=[place, documents.place]) as registry:
            registry.runtime.outgoing._given_trust = documents.trust
            await PROTOCOL.of(registry.runtime).load()
            seller = await registry.agent(
                name=WORD, pricing={"base_rate": "2.5"}, supportedInterfaces=[interface(place)]
            )
            kept.append(Service(Payments(registry, await registry.agent(name="Caller"), seller)))
            await registry.indexed()
            yield kept[0]


@pytest.fixture
def registry(service: Service) -> TestRegistry:
    return service.payments.registry


async def printed(errors: Path, beginning: str) -> str:
    """The first word that begins so in what a program has written to its second output."""

    def found() -> str | None:
        words = errors.read_text().split()
        return next((word for word in words if word.startswith(beginning)), None)

    await until(found)
    return str(found())


async def asked(client: Program, method: str, **params: Any) -> dict[str, Any]:
    """The result of a request over the pipes of a bridge."""
    client.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
    answer = await client.said()
    assert "error" not in answer, answer
    result: dict[str, Any] = answer["result"]
    return result


async def consent(page: Page, developer: TestDeveloper, agent: TestAgent | None = None) -> None:
    """Log in on the open page, and allow to read; for an agent also to pay."""
    await page.get_by_label("E-mail address").fill(developer.email)
    await page.get_by_label("Password", exact=True).fill(PASSWORD)
    await page.get_by_role("button", name="Log in").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Connect a client")
    if agent is not None:
        await page.get_by_label("wallet:pay").check()
        await page.get_by_label("Agent for which it acts").select_option(agent.did)
        await page.get_by_label("Payments above this amount need your approval").fill("5")
    await page.get_by_role("button", name="Allow").click()


@pytest.mark.parametrize("named_by", ["registration", "document"])
async def test_the_sdk_for_typescript_goes_the_whole_length(
    service: Service,
    documents: Documents,
    *,
    visit: OpenPage,
    tools: PinnedTools,
    tmp_path: Path,
    named_by: str,
) -> None:
    registry, base = service.payments.registry, service.payments.registry.settings.base_url
    developer = await registry.developer()
    payer = await developer.agent(name="Payer")
    async with host() as callback:
        redirect_uri = f"http://127.0.0.1:{callback.port}/callback"
        document = documents.of(redirect_uri) if named_by == "document" else None
        arguments = [base, redirect_uri, WORD, *([document] if document else [])]
        async with running_node(tools, "walk.mjs", *arguments, errors=tmp_path / "errors") as client:
            opened = await visit((await client.said())["consent"])
            await consent(opened.page, developer, payer)
            await opened.page.wait_for_url(f"{redirect_uri}?*")
            client.send(opened.page.url)
            granted = await client.said()
            assert granted["scope"] == "mcp:read wallet:pay wallet:read"
            assert document in {None, granted["client_id"]}
            walked = await client.said()
            assert {"find_agents", "preview_call", "buy_call"} <= set(walked["tools"])
            assert (walked["bought"]["status"], walked["bought"]["answer"]["result"]) == ("settled", RESULT)
            assert walked["again"] == walked["bought"]
            refreshed = await client.said()
            assert refreshed == {"refreshed": True, "scope": granted["scope"], "balance": "97.4875"}
            client.send("revoke")
            assert await client.said() == {"revoked": httpx2.codes.OK, "refused": True}
            assert await client.ended() == 0
    assert len(service.calls) == 1
    assert (await registry.supply())["delta"] == "0"


@dataclass
class Kept(TokenStorage):
    """Tokens and registration, kept by the SDK for Python."""

    tokens: OAuthToken | None = None
    client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


async def test_the_sdk_for_python_goes_the_whole_length(service: Service, visit: OpenPage) -> None:
    registry, base = service.payments.registry, service.payments.registry.settings.base_url
    developer = await registry.developer()
    payer, kept, pages = await developer.agent(name="Payer"), Kept(), []

    async def lead(address: str) -> None:
        opened = await visit(address)
        await consent(opened.page, developer, payer)
        await opened.page.wait_for_url(f"{redirect_uri}?*")
        pages.append(opened.page.url)

    async def come_back() -> AuthorizationCodeResult:
        answer = dict(parse_qsl(urlsplit(pages[-1]).query))
        return AuthorizationCodeResult(code=answer["code"], state=answer["state"], iss=answer["iss"])

    async with host() as callback:
        redirect_uri = f"http://127.0.0.1:{callback.port}/callback"
        stated = OAuthClientMetadata(client_name="Python SDK", redirect_uris=[redirect_uri])
        provider = OAuthClientProvider(f"{base}/mcp", stated, kept, lead, come_back)
        async with (
            httpx2.AsyncClient(auth=provider) as http,
            streamable_http_client(f"{base}/mcp", http_client=http) as (read, write),
            ClientSession(read, write) as session,
        ):
            await session.initialize()
            preview = await called(session, "preview_call", agent=service.payments.service.did, message="hi")
            bought = await called(session, "buy_call", intent=preview["intent"])
            assert (bought["status"], bought["answer"]["result"]) == ("settled", RESULT)
            assert await called(session, "buy_call", intent=preview["intent"]) == bought
            assert kept.tokens
            first = kept.tokens.refresh_token
            provider.context.token_expiry_time = 1
            assert (await called(session, "read_balance"))["balance"] == "97.4875"
            assert kept.client
            assert kept.tokens.refresh_token != first
            form = {"token": kept.tokens.access_token, "client_id": kept.client.client_id}
            async with httpx2.AsyncClient(base_url=base) as other:
                assert (await other.post("/oauth/revoke", data=form)).status_code == httpx2.codes.OK
                headers = {"Authorization": f"Bearer {kept.tokens.access_token}"}
                refused = await other.post("/mcp", json={}, headers=headers)
                assert refused.status_code == httpx2.codes.UNAUTHORIZED
    assert len(pages) == 1


async def test_mcp_remote_bridges_to_its_own_callback(
    service: Service, visit: OpenPage, tools: PinnedTools, tmp_path: Path
) -> None:
    registry, base = service.payments.registry, service.payments.registry.settings.base_url
    developer = await registry.developer()
    proxy = tools.home / "node_modules/mcp-remote/dist/proxy.js"
    arguments = [f"{base}/mcp", "--host", "127.0.0.1", "--allow-http"]
    kept = {"MCP_REMOTE_CONFIG_DIR": str(tmp_path)}
    errors = tmp_path / "errors"
    async with running_node(tools, proxy, *arguments, errors=errors, **kept) as client:
        opened = await visit(await printed(errors, f"{base}/oauth/authorize"))
        await consent(opened.page, developer)
        # Its failure lists the addresses that the browser went to.
        await opened.page.wait_for_url("http://127.0.0.1:*/oauth/callback?*")
        await expect(opened.page.get_by_text("You may close this window")).to_be_visible()
        started = await asked(client, "initialize", **HANDSHAKE)
        assert started["serverInfo"]["name"] == "hansa"
        client.send(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}))
        listed = [tool["name"] for tool in (await asked(client, "tools/list"))["tools"]]
        assert "find_agents" in listed
        assert "buy_call" not in listed
        words = {"q": WORD, "answerable_only": False}
        found = await asked(client, "tools/call", name="find_agents", arguments=words)
        assert found["structuredContent"]["result"]["results"][0]["did"] == service.payments.service.did


async def test_the_inspector_lists_and_calls_with_a_bearer(
    service: Service, tools: PinnedTools, tmp_path: Path
) -> None:
    caller, base = service.payments.caller, service.payments.registry.settings.base_url
    inspector = tools.home / "node_modules/.bin/mcp-inspector"

    async def inspected(method: str, *options: str) -> dict[str, Any]:
        target = [
            f"{base}/mcp/rpc",
            "--transport",
            "http",
            "--header",
            f"Authorization: Bearer {caller.token}",
        ]
        command = [tools.node, inspector, "--cli", *target, "--method", method, *options]
        done = await asyncio.to_thread(tools.run, command, HOME=str(tmp_path))
        assert done.returncode == 0, done.stdout + done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    assert "buy_call" in [tool["name"] for tool in (await inspected("tools/list"))["tools"]]
    balance = await inspected("tools/call", "--tool-name", "read_balance")
    assert balance["structuredContent"]["result"]["balance"] == "100"
    words = ["--tool-arg", f"q={WORD}", "answerable_only=false"]
    found = await inspected("tools/call", "--tool-name", "find_agents", *words)
    assert found["structuredContent"]["result"]["results"][0]["name"] == WORD
