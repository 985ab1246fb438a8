"""Requests of a stranger on the stage: the answers, and the tables that change meanwhile."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import httpx2

from tests.hostile.console_forms import form_key
from tests.hostile.credentials import cookie_of, let_it_stake
from tests.hostile.rows import Mark
from tests.hostile.well_formed import Stage, WellFormed
from tests.registry import TestAgent, TestDeveloper, TestRegistry

OWN_ACT = "AgentActTokenIssued"
"""A page acts as its owner's agent; that it does is recorded before the act is refused."""


@dataclass(frozen=True)
class Asked:
    """Answer to a stranger, and the tables that changed meanwhile, except for the record of its own act."""

    kind: str
    answer: httpx2.Response
    changed: set[str]


@dataclass(frozen=True)
class Stranger:
    """A developer with an agent, neither of whom has anything to do with the objects on the stage."""

    developer: TestDeveloper
    agent: TestAgent
    webhook_id: str
    cookie: Mapping[str, str] = field(repr=False)

    @classmethod
    async def of(cls, stage: Stage) -> "Stranger":
        registry = stage.registry
        developer = await registry.developer()
        agent = await developer.agent(name="Stranger")
        await let_it_stake(stage, agent)
        hook = {"url": "https://stranger.example.com/hook", "event_types": ["*"]}
        made = await registry.post("/developers/webhooks", json=hook, headers=developer.headers)
        assert made.status_code == 201, made.text
        return cls(developer, agent, str(made.json()["id"]), await cookie_of(registry, developer))

    @property
    def registry(self) -> TestRegistry:
        return self.developer.registry

    def places(self) -> dict[str, str]:
        """Own objects in which others may be."""
        return {"did": self.agent.did, "webhook_id": self.webhook_id}

    async def asks(self, kind: str, request: WellFormed) -> Asked:
        """Send the request as a `developer`, an `agent`, or in a `browser`, where a form is one that this person has open."""
        if kind == "browser":
            return await self._asks_in_a_browser(request)
        headers = self.developer.headers if kind == "developer" else self.agent.headers
        before = await Mark.of(self.registry)
        answer = await request.send(self.registry, headers)
        return Asked(kind, answer, await before.changed(self.registry))

    async def _asks_in_a_browser(self, request: WellFormed) -> Asked:
        await self._continues()
        if request.method == "POST":
            await self._gives_the_password()
            key = await form_key(self.registry, self.developer)
            request = replace(request, form={**(request.form or {}), "form_key": key})
        before, last = await Mark.of(self.registry), await self._last_event()
        answer = await request.send(self.registry, self.cookie)
        changed = await before.changed(self.registry)
        if await self._events_after(last) == [(OWN_ACT, self.agent.did)]:
            changed = {table for table in changed if not table.startswith("journal_event")}
        return Asked("browser", answer, changed)

    async def _continues(self) -> None:
        """Begin the idle time anew, which a page would otherwise do that is opened some time later."""
        continued = "UPDATE people_session SET continued_at = now() WHERE browser_token_hash IS NOT NULL"
        await self.registry.database.transaction(lambda tx: tx.execute(continued))

    async def _gives_the_password(self) -> None:
        given = "UPDATE people_session SET proved_at = now() WHERE browser_token_hash IS NOT NULL"
        await self.registry.database.transaction(lambda tx: tx.execute(given))

    async def _last_event(self) -> int:
        last: int = await self.registry.database.read(
            lambda tx: tx.fetchval("SELECT max(seq) FROM journal_event")
        )
        return last

    async def _events_after(self, seq: int) -> list[tuple[str, str]]:
        """Type and agent of each."""
        statement = "SELECT event_type, data ->> 'did' AS did FROM journal_event WHERE seq > $1"
        rows = await self.registry.database.read(lambda tx: tx.fetch(statement, seq))
        return [(row["event_type"], row["did"]) for row in rows]
