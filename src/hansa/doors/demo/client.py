"""A client of one registry, as a developer would write it."""

from dataclasses import dataclass, field
from time import monotonic
from typing import Any

import httpx2

from hansa.doors.demo.screen import Screen
from hansa_client import DeveloperTokens

OK = 200
CREATED = 201
TOO_MANY_REQUESTS = 429
UNAVAILABLE = 503
# A registry may ask a client to wait; a demo that waited longer than this for one request would look hung.
WAIT_SECONDS_MAX = 600
RETRY_SECONDS_DEFAULT = 1


class DemoFailed(Exception):
    """Something did not go as the specification says; the message is one sentence."""


@dataclass
class DemoDeveloper:
    """A developer that the demo registered."""

    name: str
    email: str
    tokens: DeveloperTokens
    password: str = field(repr=False)

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.tokens.access_token}"}


@dataclass
class DemoAgent:
    """An agent that the demo created."""

    name: str
    did: str
    token: str = field(repr=False)
    funding: str
    owner: DemoDeveloper
    client_id: str
    client_secret: str = field(repr=False)
    private_key_pem: str = field(repr=False)

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}


class DemoClient:
    """Sends requests to one registry over HTTP and requires the status that it expects."""

    def __init__(self, http: httpx2.AsyncClient, screen: Screen) -> None:
        self._http = http
        self._screen = screen

    async def ask(self, method: str, path: str, *, expect: int = OK, **request: Any) -> httpx2.Response:
        """The answer. Raises: DemoFailed on any other status."""
        answer = await self._request(method, path, **request)
        if answer.status_code != expect:
            raise DemoFailed(f"{method} {path} returned {answer.status_code}: {answer.text[:300]}")
        return answer

    async def send(self, path: str, body: dict[str, Any], headers: dict[str, str]) -> httpx2.Response:
        """One POST under an Idempotency-Key, whatever its answer."""
        return await self._request("POST", path, json=body, headers=headers)

    async def join(self, name: str, email: str, password: str) -> DemoDeveloper:
        """Register a developer and log in."""
        person = {
            "name": name,
            "email": email,
            "password": password,
            "tos_accepted": True,
            "age_confirmed": True,
        }
        await self.ask("POST", "/api/v1/auth/register", expect=CREATED, json=person)
        form = {"username": email, "password": password}
        login = await self.ask("POST", "/api/v1/auth/login", data=form)
        issued = login.json()
        tokens = DeveloperTokens.issued(issued["access_token"], issued["refresh_token"], issued["expires_in"])
        return DemoDeveloper(name, email, tokens, password)

    async def create_agent(self, owner: DemoDeveloper, did_method: str, card: dict[str, Any]) -> DemoAgent:
        """Onboard an agent in two steps and log it in."""
        bootstrap = await self.ask(
            "POST", "/api/v1/onboard/bootstrap/request-token", json={}, headers=owner.headers
        )
        made = await self.ask(
            "POST",
            "/api/v1/onboard/create_agent",
            expect=CREATED,
            json={"agent_did_method": did_method, "agent_card": card},
            headers={"Bootstrap-Token": bootstrap.json()["bootstrap_token"]},
        )
        agent = made.json()
        form = {"username": agent["client_id"], "password": agent["client_secret"]}
        token = await self.ask("POST", "/api/v1/auth/agent/token", data=form)
        return DemoAgent(
            agent["agent_card_name"],
            agent["agent_did"],
            token.json()["access_token"],
            agent["initial_funding_status"],
            owner,
            agent["client_id"],
            agent["client_secret"],
            agent["private_key_pem"],
        )

    async def balance(self, agent: DemoAgent) -> str:
        answer = await self.ask("GET", "/api/v1/teg/balance", headers=agent.headers)
        balance: str = answer.json()["balance"]
        return balance

    async def _request(self, method: str, path: str, **request: Any) -> httpx2.Response:
        """The answer, after waiting as often as the registry asks for it."""
        deadline = monotonic() + WAIT_SECONDS_MAX
        while True:
            answer = await self._http.request(method, path, **request)
            seconds = _retry_after_seconds(answer)
            if seconds is None or monotonic() + seconds > deadline:
                return answer
            await self._screen.wait(seconds, f"{_reason(answer)}, {method} {path}")


def _retry_after_seconds(answer: httpx2.Response) -> int | None:
    """How many seconds later the request may be sent again; None for an answer that is final."""
    if answer.status_code not in {TOO_MANY_REQUESTS, UNAVAILABLE}:
        return None
    after = answer.headers.get("Retry-After", "")
    return max(int(after), 1) if after.isdecimal() else RETRY_SECONDS_DEFAULT


def _reason(answer: httpx2.Response) -> str:
    return "rate limit" if answer.status_code == TOO_MANY_REQUESTS else "registry busy"
