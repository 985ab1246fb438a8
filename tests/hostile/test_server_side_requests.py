"""Nothing that a user names makes the registry connect inside: traps listen on every address of this machine (R15).

Entry points: the host of an agent at its onboarding, the addresses in its card (where the card is pulled, where the agent
is called, where it is paid for a call), the address of a webhook; each by its text, by the addresses its name resolves to, and by the target of its redirect.
"""

import random
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from hansa.foundation.plumbing.outgoing import CallLimits, NamedBy, Outgoing, OutgoingTrouble
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.rooms.catalogue.pulls import CARD_PULLS, HEALTH_CHECKS, probing
from hansa.rooms.commerce.payments.errors import ServiceNotCallable
from hansa.rooms.commerce.payments.service_call import interface_of
from hansa.rooms.notifications.webhooks import WebhookEvent, enqueue_webhook
from tests.founded import open_copy
from tests.hostile import closed_hosts
from tests.hostile.name_server import PUBLIC, PUBLIC_IPV6, NameServer, name_server
from tests.outside import Authority, Host, host
from tests.properties.scale import by_tier, printed_seed
from tests.registry import DatabaseFarm, TestDeveloper, TestRegistry
from tests.rooms.catalogue.pulls.agent_host import hosting, let_be_due, said
from tests.rooms.notifications.webhooks.receiver import HOOKS, send_due
from tests.running_jobs import run_due

CALLED_SECONDS = 1.0
BOTH = ("https", "http")
# The guard is asked about each spelling by tests of its own: a commit takes every second one here, and the others there.
ALL = slice(None)
AT_THE_DOOR, PAST_THE_DOOR = by_tier((slice(0, None, 2), slice(1, None, 2)), (ALL, ALL), (ALL, ALL))
INSIDE = ["127.0.0.1", "127.8.9.10", "10.0.0.1", "169.254.169.254", "100.64.0.1", "::1", "fd00::1"]
MAPPED = ["::ffff:7f00:1", "64:ff9b::7f00:1", "2002:7f00:1::"]
REBINDINGS = {
    "then-inside": [[PUBLIC], ["127.0.0.1"]],
    "mixed": [[PUBLIC, "127.0.0.1"]],
    "mixed-families": [[PUBLIC, "::1"]],
    "families-apart": [[PUBLIC_IPV6], ["127.0.0.1"]],
    **{f"inside-{number}": [[address]] for number, address in enumerate(INSIDE + MAPPED)},
}


class Stage:
    """A registry whose calls go through a lying name server, and traps that count who connects."""

    def __init__(self, registry: TestRegistry, owner: TestDeveloper, trap: Host, names: NameServer) -> None:
        self.registry, self.owner, self.trap, self.names = registry, owner, trap, names

    @property
    def runtime(self) -> Runtime:
        """The registry's, with the name server of this stage."""
        outgoing = Outgoing((), self.registry.settings.outgoing_allow_user_hosts, lookup=self.names.lookup)
        return replace(self.registry.runtime, outgoing=outgoing)

    async def store_card(self, host_: str | None, interface: str | None) -> None:
        """Put an agent's addresses where the door would have put them, had it let them pass."""
        await self.registry.database.transaction(lambda tx: tx.execute(_STORE, host_, interface))

    async def hook(self, url: str) -> None:
        """A webhook of the owner with something to send, at an address that its route accepts."""
        body = {"url": "https://hooks.example.com/", "event_types": ["*"]}
        answer = await self.registry.post(HOOKS, json=body, headers=self.owner.headers)
        assert answer.status_code == 201, answer.text
        await self.registry.database.transaction(lambda tx: self._enqueue(tx, answer.json()["id"], url))

    async def _enqueue(self, tx: Any, hook: str, url: str) -> None:
        await tx.execute("UPDATE notifications_webhook SET url = $2, place = $2 WHERE id = $1", hook, url)
        await tx.execute(
            "UPDATE notifications_webhook SET is_active = true, stopped_by = NULL, stopped_at = NULL"
        )
        owner = await tx.fetchval("SELECT developer_id FROM notifications_webhook WHERE id = $1", hook)
        await enqueue_webhook(tx, owner, WebhookEvent.TEST, {})

    async def go_out(self, runtime: Runtime | None = None) -> None:
        """Make every pull, call and delivery, as if its time had come."""
        using = runtime or self.runtime
        await let_be_due(self.registry)
        await run_due(using, CARD_PULLS, HEALTH_CHECKS)
        await send_due(using)

    async def outcomes(self) -> set[tuple[str, str | None]]:
        rows = await self.registry.database.query(
            lambda tx: tx.fetch("SELECT errand, outcome FROM catalogue_visit")
        )
        return {tuple(row) for row in rows}


_STORE = """
INSERT INTO catalogue_card (uuid, did, developer_id, human_readable_id, name, description, card_data, card_bytes, host,
  settlement_currency, trust_domain, name_text, description_text, tags_text, skills_text)
SELECT u, 'did:hansa:hansa.local:' || u, 1, 'a/' || u, 'a', '', json_build_object('name', 'a', 'supportedInterfaces',
  CASE WHEN $2::text IS NULL THEN '[]'::json ELSE json_build_array(json_build_object(
    'url', $2::text, 'protocolBinding', 'JSONRPC', 'protocolVersion', '1.0')) END), 1, $1::text, 'AVT', 'x.local', '', '', '', ''
FROM gen_random_uuid() u
"""


@pytest.fixture(scope="module")
async def opened(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Stage]:
    async with host(address=None) as trap, name_server() as names:
        directory = tmp_path_factory.mktemp("inside")
        async with open_copy(database_farm, directory) as registry:
            yield Stage(registry, await registry.developer(), trap, names)


@pytest.fixture
async def stage(opened: Stage, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Stage]:
    monkeypatch.setattr("hansa.rooms.catalogue.pulls.pulling.SECONDS", CALLED_SECONDS)
    monkeypatch.setattr(probing, "LIMITS", replace(probing.LIMITS, seconds=CALLED_SECONDS))
    opened.trap.forget()
    opened.names.answers.clear()
    opened.names.questions.clear()
    yield opened
    assert opened.trap.connections == 0
    for table in ("catalogue_card", "notifications_webhook"):
        await opened.registry.database.transaction(lambda tx, table=table: tx.execute(f"DELETE FROM {table}"))


async def test_no_spelling_of_an_inner_host_is_called_from_any_door(stage: Stage):
    """A webhook there is refused. An agent may name it as its host: then its card is never read."""
    urls = closed_hosts.urls(stage.trap.port)
    assert len(urls) > 300
    urls = urls[AT_THE_DOOR]
    body = {"agent_did_method": stage.registry.settings.did_method}
    ticket = {"Bootstrap-Token": await stage.owner.bootstrap_token()}
    created = 0
    for url in urls:
        elsewhere = stage.registry.elsewhere()
        onboarded = await stage.registry.post(
            "/onboard/create_agent", json={**body, "agent_host": url}, headers={**ticket, **elsewhere}
        )
        assert onboarded.status_code in {201, 422}, url
        if onboarded.status_code == 201:
            created += 1
            ticket = {"Bootstrap-Token": await stage.owner.bootstrap_token()}
        hooked = await stage.registry.post(
            HOOKS, json={"url": url, "event_types": ["*"]}, headers={**stage.owner.headers, **elsewhere}
        )
        assert hooked.status_code == 422, url
    assert created > len(urls) // 3
    await stage.go_out()
    assert {outcome for errand, outcome in await stage.outcomes() if errand == "pull"} == {"internal_host"}
    assert stage.names.questions == []


async def test_no_spelling_of_an_inner_host_is_connected_to_when_it_got_past_the_door(stage: Stage):
    for url in closed_hosts.urls(stage.trap.port, by_tier(("https",), BOTH, BOTH))[PAST_THE_DOOR]:
        if not set(url) & {"\t", "\n"}:
            await stage.store_card(url, None)
            await stage.store_card(None, url)
    await stage.go_out()
    outcomes = await stage.outcomes()
    assert ("pull", "updated") not in outcomes
    assert ("pull", "unchanged") not in outcomes
    assert ("pull", "internal_host") in outcomes
    assert ("liveness", "alive") not in outcomes
    assert stage.names.questions == [], "nobody is asked about a name that is closed"


async def test_a_name_that_leads_inside_is_not_connected_to_and_looked_up_once_a_fetch(stage: Stage):
    for label, answers in REBINDINGS.items():
        for entry in ("host", "card", "hook"):
            stage.names.answers[f"{entry}-{label}.example.com"] = list(answers)
        await stage.store_card(f"https://host-{label}.example.com:{stage.trap.port}", None)
        await stage.store_card(None, f"https://card-{label}.example.com:{stage.trap.port}")
    for label in REBINDINGS:
        await stage.hook(f"https://hook-{label}.example.com:{stage.trap.port}/")
    await stage.go_out()
    asked = stage.names.questions
    for label in REBINDINGS:
        # The card's address is fetched from twice: its card is pulled, and its agent called.
        for entry, fetches in (("host", 1), ("card", 2), ("hook", 1)):
            name = f"{entry}-{label}.example.com"
            looked_up = asked.count((name, "A"))
            assert looked_up == asked.count((name, "AAAA")), name
            # An agent is called again after a drawn pause, which can be short.
            assert looked_up == fetches or (entry == "card" and looked_up > fetches), name
    assert {outcome for errand, outcome in await stage.outcomes() if errand == "pull"} == {
        "internal_host",
        "attempted_failed",
    }


async def test_a_purchase_calls_no_spelling_of_an_inner_host(stage: Stage):
    urls = closed_hosts.urls(stage.trap.port, BOTH)
    assert len(urls) > 600
    for url in urls:
        with pytest.raises(ServiceNotCallable):
            interface_of(sold_at(url), ())


async def test_a_purchase_at_a_name_that_leads_inside_connects_nowhere(stage: Stage):
    for label, answers in REBINDINGS.items():
        name = f"sold-{label}.example.com"
        stage.names.answers[name] = list(answers)
        interface = interface_of(sold_at(f"https://{name}:{stage.trap.port}"), ())
        with pytest.raises(OutgoingTrouble):
            await stage.runtime.outgoing.post(
                interface.url, b"{}", named_by=NamedBy.USER, limits=CallLimits(CALLED_SECONDS)
            )
        assert stage.names.questions.count((name, "A")) == stage.names.questions.count((name, "AAAA")) == 1


def sold_at(url: str) -> dict[str, Any]:
    """A card of an agent that is called there."""
    return {"supportedInterfaces": [{"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}]}


async def test_a_name_that_goes_to_and_fro_at_random_never_leads_inside(stage: Stage):
    shuffled = random.Random(printed_seed())
    tries = by_tier(30, 300, 3000)
    for number in range(tries):
        some = [PUBLIC, PUBLIC_IPV6, *INSIDE, *MAPPED]
        answers = [shuffled.sample(some, shuffled.randint(1, 3)) for _ in range(4)]
        stage.names.answers[f"n{number}.example.com"] = answers
        await stage.store_card(f"https://n{number}.example.com:{stage.trap.port}", None)
    for _ in range(2):
        await stage.go_out()
    assert len(stage.names.questions) == 2 * 2 * tries


async def test_a_redirect_leads_nowhere(stage: Stage):
    async with hosting() as agents:
        agents.raw = said(b"", f"Location: http://127.0.0.1:{stage.trap.port}/", status=302)
        outgoing = Outgoing((), {agents.place}, lookup=stage.names.lookup)
        await stage.store_card(agents.url, None)
        await stage.store_card(None, agents.url)
        await stage.hook(agents.url)
        settings = stage.registry.settings.model_copy(update={"outgoing_allow_user_hosts": [agents.place]})
        await stage.go_out(replace(stage.runtime, outgoing=outgoing, settings=settings))
        assert len(agents.asked) == 4
    assert await stage.outcomes() == {
        ("pull", "attempted_failed"),
        ("liveness", None),
        ("liveness", "unreachable"),
    }


async def test_a_name_that_is_public_is_connected_to_at_the_address_looked_up_with_its_own_certificate(
    stage: Stage, tmp_path: Path
):
    """The other side of it: with the same lying server, who proves the name by TLS is read."""
    authority = Authority()
    name = "cards.example.com"
    stage.names.answers[name] = [["127.0.0.1"], ["127.0.0.9"]]
    async with hosting(authority.server(tmp_path, name)) as agents:
        place = f"{name}:{agents.listening.port}"
        trust = authority.trust()
        outgoing = Outgoing((), {place}, lookup=stage.names.lookup, trust=trust)
        await stage.store_card(f"https://{place}", None)
        agents.raw = said(b"[]")
        settings = stage.registry.settings.model_copy(update={"outgoing_allow_user_hosts": [place]})
        await let_be_due(stage.registry)
        await run_due(replace(stage.runtime, outgoing=outgoing, settings=settings), CARD_PULLS)
        assert [asked.line for asked in agents.asked] == ["GET /.well-known/agent-card.json HTTP/1.1"]
    assert sorted(stage.names.questions) == [(name, "A"), (name, "AAAA")]
