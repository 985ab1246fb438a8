"""A client of one registry, as a developer would write it."""

import asyncio
from dataclasses import dataclass
from typing import Any

import httpx2

WAITS_FOR_A_LIMIT = 8


class DemoFailed(Exception):
    """Something did not go as the specification says; the message is one sentence."""


@dataclass
class DemoAgent:
    """An agent that the demo created."""

    name: str
    did: str
    token: str
    funding: str

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}


class Visitor:
    """Speaks to one registry over HTTP and insists on the status that it expects."""

    def __init__(self, http: httpx2.AsyncClient) -> None:
        self._http = http

    async def ask(self, method: str, path: str, *, expect: int = 200, **request: Any) -> httpx2.Response:
        """The answer; waits when a rate limit asks for it. Raises: DemoFailed on any other status."""
        for _ in range(WAITS_FOR_A_LIMIT):
            answer = await self._http.request(method, path, **request)
            if answer.status_code != 429:  # noqa: PLR2004
                break
            await asyncio.sleep(int(answer.headers["Retry-After"]))
        if answer.status_code != expect:
            raise DemoFailed(f"{method} {path} answered {answer.status_code}: {answer.text[:300]}")
        return answer

    async def send(self, path: str, body: dict[str, Any], headers: dict[str, str]) -> httpx2.Response:
        """One POST, whatever its answer."""
        return await self._http.post(path, json=body, headers=headers)

    async def join(self, name: str, email: str, password: str) -> str:
        """Register a developer and log in; returns the developer token."""
        person = {
            "name": name,
            "email": email,
            "password": password,
            "tos_accepted": True,
            "age_confirmed": True,
        }
        await self.ask("POST", "/api/v1/auth/register", expect=201, json=person)
        form = {"username": email, "password": password}
        login = await self.ask("POST", "/api/v1/auth/login", data=form)
        token: str = login.json()["access_token"]
        return token

    async def create_agent(self, developer_token: str, did_method: str, card: dict[str, Any]) -> DemoAgent:
        """Onboard an agent in two steps and log it in."""
        bearer = {"Authorization": f"Bearer {developer_token}"}
        bootstrap = await self.ask("POST", "/api/v1/onboard/bootstrap/request-token", json={}, headers=bearer)
        made = await self.ask(
            "POST",
            "/api/v1/onboard/create_agent",
            expect=201,
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
        )

    async def balance(self, agent: DemoAgent) -> str:
        answer = await self.ask("GET", "/api/v1/teg/balance", headers=agent.headers)
        balance: str = answer.json()["balance"]
        return balance
