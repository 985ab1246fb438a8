"""A client that a person connects as stock clients do: registered, consented to in a browser, and given its tokens."""

import re
from base64 import urlsafe_b64encode
from dataclasses import dataclass, field
from hashlib import sha256
from html import unescape
from secrets import token_urlsafe
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx2

from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.web.caller import AGENT_CHECK, LAST_READ_AGENT, Agent
from hansa.foundation.values.connections import act
from hansa.rooms import agents, people
from hansa.rooms.agents.check import check_agent
from tests.browsing import BrowserOf
from tests.registry import TestAgent, TestDeveloper, TestRegistry

REDIRECT = "http://127.0.0.1:33418/callback"
STATE = "a-state-of-the-client"
_LINK = re.compile(r'<a class="button[^"]*" href="([^"]*)" rel="noreferrer"')


def take_access_tokens(registry: TestRegistry) -> None:
    """Let the routes of agents take access tokens from now on, as the caller that the MCP endpoint gives them.

    Served registries never do: `test_no_rest_route_takes_an_access_token`.
    """

    async def check(runtime: Runtime, token: str) -> Agent:
        try:
            connection = await people.access_of(runtime, token)
        except people.AccessTokenRefused:
            return await check_agent(runtime, token)
        did = connection.agent_did
        assert did is not None
        return await runtime.database.read(
            lambda tx: agents.acting_under(tx, did, connection.developer_id, connection.grant)
        )

    def last_read(_: Runtime, __: str) -> Agent | None:
        return None

    # A registry on a socket has a runtime besides that of its client in this process.
    transport = registry.http._transport
    assert isinstance(transport, httpx2.ASGITransport)
    for app in (registry.app, transport.app):
        AGENT_CHECK.put(app.state.runtime, check)
        LAST_READ_AGENT.put(app.state.runtime, last_read)


def pkce() -> tuple[str, str]:
    """A verifier and its challenge."""
    verifier = token_urlsafe(48)
    digest = sha256(verifier.encode()).digest()
    return verifier, urlsafe_b64encode(digest).rstrip(b"=").decode()


@dataclass
class ConnectedClient:
    """A registered client of a person, with the browser of the person; `tokens` are those of the last exchange."""

    registry: TestRegistry
    developer: TestDeveloper
    browser: BrowserOf
    client_id: str
    redirect_uri: str = REDIRECT
    verifier: str = ""
    tokens: dict[str, Any] = field(default_factory=dict)
    agent: TestAgent | None = None

    @property
    def access_token(self) -> str:
        """The access token."""
        return str(self.tokens["access_token"])

    def request(self, **parameters: str | None) -> str:
        """The address of an authorization request; a parameter that is None is left out."""
        self.verifier, challenge = pkce()
        given: dict[str, str | None] = {
            "response_type": "code",
            "client_id": self.client_id,
            "redirect_uri": self.redirect_uri,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
            "state": STATE,
            "scope": "mcp:read wallet:read",
            "resource": f"{self.registry.settings.base_url}/mcp",
            **parameters,
        }
        return f"/oauth/authorize?{urlencode({name: one for name, one in given.items() if one is not None})}"

    async def ask(self, **parameters: str | None) -> httpx2.Response:
        """Open the consent page."""
        return await self.browser.open(self.request(**parameters))

    async def allow(self, *scopes: str, agent: TestAgent | None = None, **fields: Any) -> dict[str, str]:
        """Tick these scopes and allow the access; returns the parameters that lead back."""
        await self.browser.send(
            "/oauth/authorize",
            scopes=list(scopes or ("mcp:read", "wallet:read")),
            agent_did=agent.did if agent else "",
            decision="allow",
            **fields,
        )
        return self.led_back()

    async def refuse(self) -> dict[str, str]:
        """Refuse the access; returns the parameters that lead back."""
        await self.browser.send("/oauth/authorize", decision="refuse")
        return self.led_back()

    def led_back_to(self) -> str:
        """The address of the link of the open page, which is the client's own."""
        found = _LINK.search(self.browser.text)
        assert found, self.browser.text
        address = unescape(found[1])
        assert address.startswith(self.redirect_uri), address
        return address

    def led_back(self) -> dict[str, str]:
        """The parameters of the link of the open page."""
        query = urlsplit(self.led_back_to()).query
        return {name: values[0] for name, values in parse_qs(query).items()}

    async def exchange(self, code: str, **parameters: str | None) -> httpx2.Response:
        """Exchange a code at the token endpoint."""
        return await self.post_token(
            grant_type="authorization_code",
            code=code,
            redirect_uri=self.redirect_uri,
            code_verifier=self.verifier,
            **parameters,
        )

    async def refresh(self, refresh_token: str | None = None, **parameters: str | None) -> httpx2.Response:
        """Exchange a refresh token, by default the newest."""
        return await self.post_token(
            grant_type="refresh_token",
            refresh_token=refresh_token or self.tokens["refresh_token"],
            **parameters,
        )

    async def post_token(self, **parameters: str | None) -> httpx2.Response:
        """Send a form to the token endpoint; the tokens of an answer 200 are kept."""
        given = {"client_id": self.client_id, **parameters}
        answer = await self.registry.http.post(
            "/oauth/token",
            data={name: one for name, one in given.items() if one is not None},
            headers=self.registry.elsewhere(),
        )
        if answer.status_code == httpx2.codes.OK:
            self.tokens = answer.json()
        return answer

    @property
    def headers(self) -> dict[str, str]:
        """The access token as a bearer."""
        return {"Authorization": f"Bearer {self.access_token}", **self.registry.elsewhere()}

    async def transfer(self, payee: TestAgent, amount: str, *, key: str | None = None) -> httpx2.Response:
        """Pay another agent under the connection, after `take_access_tokens`."""
        headers = {**self.headers, **({"Idempotency-Key": key} if key else {})}
        body = {"receiver_agent_id": payee.did, "amount": amount}
        return await self.registry.post("/teg/transfer", json=body, headers=headers)

    async def spent(self) -> str:
        """The amount paid today under the connection."""
        (row,) = await self.connections()
        spent: str = row["spent_today"]
        return spent

    async def connections(self) -> list[dict[str, Any]]:
        """The connections of the person."""
        answer = await self.registry.get("/auth/connections", headers=self.developer.headers)
        assert answer.status_code == httpx2.codes.OK, answer.text
        items: list[dict[str, Any]] = answer.json()["items"]
        return items


async def register(registry: TestRegistry, *redirect_uris: str, **metadata: Any) -> httpx2.Response:
    """Register a client."""
    body = {"redirect_uris": list(redirect_uris or (REDIRECT,)), "client_name": "Test client", **metadata}
    return await registry.http.post("/oauth/register", json=body)


async def client_of(
    registry: TestRegistry, developer: TestDeveloper | None = None, redirect_uri: str = REDIRECT
) -> ConnectedClient:
    """A registered client, and a browser in which its person is logged in; nothing is granted yet."""
    developer = developer or await registry.developer()
    browser = await BrowserOf(registry).log_in(developer.email)
    registered = await register(registry, redirect_uri)
    assert registered.status_code == httpx2.codes.CREATED, registered.text
    return ConnectedClient(registry, developer, browser, registered.json()["client_id"], redirect_uri)


async def connect(
    registry: TestRegistry,
    *scopes: str,
    developer: TestDeveloper | None = None,
    agent: TestAgent | None = None,
    **fields: Any,
) -> ConnectedClient:
    """A client with tokens: the person logs in, consents to the scopes, and the client exchanges the code.

    Scopes that act are for `agent`, by default a new one of the developer, with the genesis grant.
    """
    developer = developer or await registry.developer()
    if agent is None and act(scopes):
        agent = await developer.agent()
    client = await client_of(registry, developer)
    client.agent = agent
    await client.ask()
    led_back = await client.allow(*scopes, agent=agent, **fields)
    answer = await client.exchange(led_back["code"])
    assert answer.status_code == httpx2.codes.OK, answer.text
    return client
