"""A host of agents: a real HTTP server that serves cards, answers calls as it is set, and keeps the requests."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from hansa.foundation.plumbing.jobs import withdraw
from hansa.rooms.catalogue.pulls import CARD_PULLS, HEALTH_CHECKS
from tests.outside import Host, host
from tests.registry import StartRegistry, TestAgent, TestRegistry, card_of, open_registry
from tests.running_jobs import run_due

WELL_KNOWN = "/.well-known/agent-card.json"
PULL_STATUS = "/admin/agent-card-pullsync/status"
PULL_EVENTS = "/admin/agent-card-pullsync/events"

Reply = Callable[[Any], tuple[int, bytes]]


@dataclass(frozen=True)
class ParsedQuery:
    """One request."""

    line: str
    headers: dict[str, str] = field(repr=False)
    body: bytes = b""


@dataclass
class AgentHost:
    """`cards` by path; `raw` says something else word for word, after `pause` seconds; `reply` answers calls."""

    listening: Host
    cards: dict[str, Any] = field(default_factory=dict)
    raw: bytes | None = None
    pause: float = 0.0
    sends_etags: bool = True
    reply: Reply | None = None
    asked: list[ParsedQuery] = field(default_factory=list)

    @property
    def place(self) -> str:
        return f"127.0.0.1:{self.listening.port}"

    @property
    def url(self) -> str:
        return f"http://{self.place}"

    def card(self, name: str = "Translator", path: str = "/a2a", **more: Any) -> dict[str, Any]:
        """A card of an agent that is called at this host."""
        interface = {"url": self.url + path, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
        return card_of(name, **{"supportedInterfaces": [interface], **more})

    def serve(self, name: str = "Translator", at: str = WELL_KNOWN, **more: Any) -> dict[str, Any]:
        """Serve this card from now on."""
        self.cards[at] = self.card(name, **more)
        return self.cards[at]

    def answer(self, asked: ParsedQuery) -> bytes:
        """Return the answer to a request."""
        method, path, _ = asked.line.split(" ")
        if self.raw is not None:
            return self.raw
        if method == "POST" and self.reply:
            status, body = self.reply(json.loads(asked.body))
            return said(body, status=status)
        if path not in self.cards:
            return said(b"nothing here", status=404)
        body = json.dumps(self.cards[path]).encode()
        etag = f'"{sha256(body).hexdigest()[:16]}"'
        if self.sends_etags and asked.headers.get("if-none-match") == etag:
            return said(b"", status=304)
        return said(body, *([f"ETag: {etag}"] if self.sends_etags else []))


def said(body: bytes, *headers: str, status: int = 200) -> bytes:
    """A whole HTTP answer."""
    lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(body)}", "Connection: close", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


@asynccontextmanager
async def hosting(tls: ssl.SSLContext | None = None) -> AsyncIterator[AgentHost]:
    """A host that listens."""
    agents: AgentHost

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line, *lines = agents.listening.heads[-1].removesuffix("\r\n\r\n").split("\r\n")
        headers = {name.lower(): value for name, value in (entry.split(": ", 1) for entry in lines)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        agents.asked.append(ParsedQuery(line, headers, body))
        answer = agents.answer(agents.asked[-1])
        await asyncio.sleep(agents.pause)
        writer.write(answer)

    async with host(speak, tls=tls) as listening:
        agents = AgentHost(listening)
        yield agents


async def registry_that_pulls(
    start_registry: StartRegistry, *hosts: AgentHost, **settings: Any
) -> TestRegistry:
    """A registry whose operator lets it call these hosts."""
    return await start_registry(outgoing_allow_user_hosts=",".join(one.place for one in hosts), **settings)


@asynccontextmanager
async def registry_beside_a_host(dsn: str, directory: Path) -> AsyncIterator[tuple[TestRegistry, AgentHost]]:
    """A host, and a registry on that database that may call it."""
    async with (
        hosting() as agents,
        open_registry(dsn, directory, outgoing_allow_user_hosts=agents.place) as registry,
    ):
        yield registry, agents


async def hosted_agent(registry: TestRegistry, address: str) -> TestAgent:
    """An agent that is created with the address of its host alone."""
    owner = await registry.developer()
    answer = await registry.post(
        "/onboard/create_agent",
        json={"agent_did_method": registry.settings.did_method, "agent_host": address},
        headers={"Bootstrap-Token": await owner.bootstrap_token(), **registry.elsewhere()},
    )
    assert answer.status_code == 201, answer.text
    return TestAgent(registry, answer.json()["agent_did"], owner.token, answer.json())


async def card_of_agent(agent: TestAgent) -> dict[str, Any]:
    """The agent's card as everybody reads it."""
    answer = await agent.registry.get(f"/agent-cards/{agent.did}")
    assert answer.status_code == 200, answer.text
    return answer.json()


async def observed(agent: TestAgent) -> dict[str, Any]:
    """Return the registry's observations of the agent."""
    return await one_row(
        agent.registry,
        "SELECT is_stub, liveness, liveness_checked_at, last_alive_at, host_verified_at, version FROM catalogue_card"
        " WHERE did = $1",
        agent.did,
    )


async def visit_of(agent: TestAgent, errand: str = "pull") -> dict[str, Any]:
    """The state of the visits to an agent and of their job; `wait`: seconds until the next."""
    return await one_row(
        agent.registry,
        "SELECT v.*, j.lease_until, round(extract(epoch FROM j.due_at - now()))::int AS wait FROM catalogue_visit v"
        " JOIN catalogue_card c ON c.id = v.card_id JOIN plumbing_job j ON j.key = c.id::text AND j.kind = $3"
        " WHERE c.did = $1 AND v.errand = $2",
        agent.did,
        errand,
        (CARD_PULLS if errand == "pull" else HEALTH_CHECKS).name,
    )


async def one_row(registry: TestRegistry, statement: str, *values: Any) -> dict[str, Any]:
    row = await registry.database.query(lambda tx: tx.fetchrow(statement, *values))
    assert row is not None
    return dict(row)


async def pull_cards(registry: TestRegistry) -> int:
    """Make the pulls that are due; returns how many were made."""
    return await run_due(registry.runtime, CARD_PULLS)


async def check_health(registry: TestRegistry) -> int:
    """Make the health checks that are due; returns how many were made."""
    return await run_due(registry.runtime, HEALTH_CHECKS)


async def let_be_due(registry: TestRegistry) -> None:
    """End every lease, and make every visit due."""
    await registry.database.transaction(
        lambda tx: tx.execute(
            "UPDATE plumbing_job SET due_at = now(), lease_until = lease_until - interval '1 day' WHERE kind = ANY ($1)",
            [CARD_PULLS.name, HEALTH_CHECKS.name],
        )
    )


async def forget_visits(registry: TestRegistry) -> None:
    """No card is visited any more."""
    await registry.database.transaction(lambda tx: tx.execute("DELETE FROM catalogue_visit"))
    for kind in (CARD_PULLS, HEALTH_CHECKS):
        await registry.database.transaction(lambda tx, kind=kind: withdraw(tx, kind.name))
