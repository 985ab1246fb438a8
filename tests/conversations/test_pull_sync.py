"""The registry reads the card that each agent serves itself, and shows operators the outcome."""

import json
from base64 import urlsafe_b64encode
from collections.abc import AsyncIterator
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from msgspec.structs import replace

from hansa.foundation.values.canonical import canonical_json
from tests.registry import DatabaseFarm, TestAgent, TestDeveloper, TestRegistry
from tests.rooms.catalogue.pulls.agent_host import (
    PULL_EVENTS,
    PULL_STATUS,
    WELL_KNOWN,
    AgentHost,
    card_of_agent,
    forget_visits,
    hosted_agent,
    let_be_due,
    observed,
    one_row,
    pull_cards,
    registry_beside_a_host,
    said,
    visit_of,
)


class Stage:
    """A registry, its operator, and a host of agents that it may call."""

    def __init__(self, registry: TestRegistry, operator: TestDeveloper, agents: AgentHost) -> None:
        self.registry, self.operator, self.agents = registry, operator, agents

    async def pull(self) -> int:
        """Pull whatever there is, as if its time had come."""
        await let_be_due(self.registry)
        self.agents.asked.clear()
        return await pull_cards(self.registry)

    async def status(self) -> dict[str, Any]:
        answer = await self.registry.get(PULL_STATUS, headers=self.operator.headers)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def events(self, **query: Any) -> dict[str, Any]:
        answer = await self.registry.get(PULL_EVENTS, params=query, headers=self.operator.headers)
        assert answer.status_code == 200, answer.text
        return answer.json()


@pytest.fixture(scope="module")
async def opened(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Stage]:
    dsn = await database_farm.fresh()
    async with registry_beside_a_host(dsn, tmp_path_factory.mktemp("pulls")) as (registry, agents):
        yield Stage(registry, await registry.administrator("admin_platform"), agents)


@pytest.fixture
async def stage(opened: Stage) -> AsyncIterator[Stage]:
    """Stage in its initial state: no card of an earlier test is pulled any more."""
    opened.agents.cards.clear()
    opened.agents.raw, opened.agents.sends_etags = None, True
    yield opened
    await forget_visits(opened.registry)


async def pulled_agent(stage: Stage, **card: Any) -> TestAgent:
    """An agent whose card was pulled once."""
    stage.agents.serve(**card)
    agent = await hosted_agent(stage.registry, stage.agents.url)
    assert await pull_cards(stage.registry) == 1
    return agent


async def test_a_stub_becomes_the_card_that_the_host_serves(stage: Stage):
    served = stage.agents.serve("Weaver", pricing={"model": "per-request", "base_rate": 2})
    agent = await hosted_agent(stage.registry, stage.agents.url)
    assert agent.created["requires_well_known_fetch"] is True
    assert await pull_cards(stage.registry) == 1
    card = await card_of_agent(agent)
    assert (card["name"], card["pull_failures"], card["last_pull_status"]) == ("Weaver", 0, "updated")
    assert card["last_pull_attempt_at"] is not None
    assert card["card_data"]["pricing"] == served["pricing"]
    seen = await observed(agent)
    assert (seen["is_stub"], seen["host_verified_at"] is None) == (False, False)
    await stage.registry.indexed()
    assert (await stage.registry.get("/discover", params={"query": "weaver"})).json()["total"] == 1


async def test_an_agent_reads_its_current_name_after_a_pull(stage: Stage):
    agent = await pulled_agent(stage, name="Weaver")
    form = {"username": agent.created["client_id"], "password": agent.created["client_secret"]}
    token = await stage.registry.post("/auth/agent/token", data=form, headers=stage.registry.elsewhere())
    headers = {"Authorization": f"Bearer {token.json()['access_token']}"}
    assert (await stage.registry.get("/agents/me", headers=headers)).json()["name"] == "Weaver"
    stage.agents.serve("Spinner")
    assert await stage.pull() == 1
    assert (await stage.registry.get("/agents/me", headers=headers)).json()["name"] == "Spinner"


async def test_a_change_is_published_once_with_what_has_changed(stage: Stage):
    agent = await pulled_agent(stage)
    before = (await stage.events())["pagination"]["total_items"]
    assert await stage.pull() == 1
    stage.agents.serve(description="Better than ever.")
    for _ in range(2):
        assert await stage.pull() == 1
    returned = await stage.events(offset=before)
    (event,) = returned["items"]
    assert event["event_type"] == "AgentCardPulled"
    assert event["data"]["did"] == agent.did
    assert event["data"]["card_id"] == agent.created["agent_card_id"]
    assert event["data"]["changed_keys"] == ["description"]
    assert event["data"]["old_hash"] != event["data"]["new_hash"]
    assert (await stage.events(sort_order="desc", limit=1))["items"] == [event]
    assert (await card_of_agent(agent))["description"] == "Better than ever."


async def test_an_unchanged_card_is_asked_for_by_its_tag_and_writes_no_document(stage: Stage):
    agent = await pulled_agent(stage)
    before = await card_of_agent(agent)
    assert await stage.pull() == 1
    (asked,) = stage.agents.asked
    assert "if-none-match" in asked.headers
    after = await card_of_agent(agent)
    assert after["last_pull_status"] == "unchanged"
    assert after["updated_at"] == before["updated_at"]
    assert after["last_pull_attempt_at"] > before["last_pull_attempt_at"]
    assert (await observed(agent))["version"] == 2


async def test_a_pull_that_changes_nothing_blocks_no_owner_and_changes_the_etag(
    stage: Stage,
):
    agent = await pulled_agent(stage)
    for outcome in ("unchanged", "attempted_failed"):
        path = f"/agent-cards/{agent.did}"
        read = await stage.registry.get(path)
        if outcome == "attempted_failed":
            stage.agents.raw = said(b"", status=500)
        assert await stage.pull() == 1
        news = await stage.registry.get(path, headers={"If-None-Match": read.headers["etag"]})
        assert (news.status_code, news.json()["last_pull_status"]) == (200, outcome)
        owner = {"Authorization": f"Bearer {agent.token}", "If-Match": read.headers["etag"]}
        document = {**read.json()["card_data"], "description": f"Written after: {outcome}."}
        written = await stage.registry.http.put("/api/v1" + path, json={"card_data": document}, headers=owner)
        assert written.status_code == 200, written.text
        assert (await card_of_agent(agent))["description"] == f"Written after: {outcome}."


async def test_a_pull_that_changes_the_card_is_not_overwritten_by_who_has_not_seen_it(stage: Stage):
    agent = await pulled_agent(stage)
    path = f"/agent-cards/{agent.did}"
    read = await stage.registry.get(path)
    stage.agents.serve(description="Better than ever.")
    assert await stage.pull() == 1
    owner = {"Authorization": f"Bearer {agent.token}", "If-Match": read.headers["etag"]}
    body = {"card_data": read.json()["card_data"]}
    assert (await stage.registry.http.put("/api/v1" + path, json=body, headers=owner)).status_code == 412
    assert (await card_of_agent(agent))["description"] == "Better than ever."


async def test_a_card_without_a_tag_or_signed_anew_each_time_is_no_change(stage: Stage):
    stage.agents.sends_etags = False
    agent = await pulled_agent(stage)
    for number in range(3):
        stage.agents.serve(signatures=[{"protected": "e30", "signature": f"c2ln{number}"}])
        assert await stage.pull() == 1
        assert "if-none-match" not in stage.agents.asked[0].headers
    assert (await observed(agent))["version"] == 2


async def test_a_failure_is_counted_and_waits_twice_as_long_each_time_a_week_at_most(stage: Stage):
    agent = await hosted_agent(stage.registry, stage.agents.url)
    for failures, wait in ((1, 600), (2, 1200), (3, 2400)):
        assert await stage.pull() == 1
        card = await card_of_agent(agent)
        assert (card["pull_failures"], card["last_pull_status"]) == (failures, "attempted_failed")
        visit = await visit_of(agent)
        assert abs(visit["wait"] - wait) <= 5
        assert visit["trouble"] == "The host answered 404."
    await stage.registry.database.transaction(
        lambda tx: tx.execute("UPDATE catalogue_visit SET failures = 30")
    )
    assert await stage.pull() == 1
    assert abs((await visit_of(agent))["wait"] - 7 * 24 * 3600) <= 5
    stage.agents.serve("Weaver")
    assert await stage.pull() == 1
    card = await card_of_agent(agent)
    assert (card["pull_failures"], card["name"]) == (0, "Weaver")
    assert abs((await visit_of(agent))["wait"] - 300) <= 5


@pytest.mark.parametrize(
    ("raw", "error"),
    [
        (said(b"<html>", "Content-Type: text/html"), "The body is not valid JSON"),
        (said(b"[]"), "The card is refused"),
        (said(b'{"name": "x", "name": "y"}'), "duplicate member"),
        (said(b'{"name": "No more than a name"}'), "The card is refused"),
        (said(b"[" * 100_000), "nested deeper"),
        (said(b"{}", "Location: http://127.0.0.1:1/", status=302), "The host answered 302."),
        (said(b"x" * (2 * 1024 * 1024 + 1)), "answer_too_large"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{", "The host gave no answer"),
    ],
    ids=["page", "list", "twins", "half a card", "deep", "redirect", "huge", "broken off"],
)
async def test_an_answer_that_is_no_card_changes_nothing_but_the_note_of_it(
    stage: Stage, raw: bytes, error: str
):
    agent = await pulled_agent(stage)
    before = await card_of_agent(agent)
    stage.agents.raw = raw
    assert await stage.pull() == 1
    after = await card_of_agent(agent)
    noted = ("last_pull_attempt_at", "last_pull_status", "pull_failures")
    assert {**after, **{name: before[name] for name in noted}} == before
    assert (after["last_pull_status"], after["pull_failures"]) == ("attempted_failed", 1)
    assert error in (await visit_of(agent))["trouble"]


async def test_an_owners_word_stands_until_the_agents_own_card_changes(stage: Stage):
    agent = await pulled_agent(stage)
    mine = stage.agents.card(description="As its owner puts it.")
    await replace_card(agent, mine)
    stage.agents.sends_etags = False
    assert await stage.pull() == 1
    assert (await card_of_agent(agent))["description"] == "As its owner puts it."
    stage.agents.serve(description="As the agent puts it now.")
    assert await stage.pull() == 1
    assert (await card_of_agent(agent))["description"] == "As the agent puts it now."


async def test_what_a2a_has_no_word_for_stays_as_its_owner_wrote_it_until_the_agent_says_it(stage: Stage):
    price = {"model": "per-request", "base_rate": 3}
    agent = await stage.registry.agent(
        supportedInterfaces=stage.agents.card()["supportedInterfaces"], pricing=price, tags=["mine"]
    )
    stage.agents.serve(description="From the host.")
    assert await stage.pull() == 1
    card = (await card_of_agent(agent))["card_data"]
    assert (card["description"], card["pricing"], card["tags"]) == ("From the host.", price, ["mine"])
    stage.agents.serve(pricing={"model": "per-request", "base_rate": 4})
    assert await stage.pull() == 1
    assert (await card_of_agent(agent))["card_data"]["pricing"]["base_rate"] == 4
    stage.agents.serve(description="For nothing.")
    assert await stage.pull() == 1
    card = (await card_of_agent(agent))["card_data"]
    assert "pricing" not in card
    assert card["tags"] == ["mine"]


async def test_below_the_agents_own_address_before_the_root_of_its_host(stage: Stage):
    one = await stage.registry.agent(
        supportedInterfaces=stage.agents.card(path="/one")["supportedInterfaces"]
    )
    two = await stage.registry.agent(
        supportedInterfaces=stage.agents.card(path="/two")["supportedInterfaces"]
    )
    stage.agents.serve("First", at="/one" + WELL_KNOWN, path="/one")
    stage.agents.serve("Root", at=WELL_KNOWN, path="/one")
    assert await stage.pull() == 2
    assert (await card_of_agent(one))["name"] == "First"
    assert (await card_of_agent(two))["name"] == "Translator"
    assert (await visit_of(two))["trouble"] == "The host serves the card of another agent."
    stage.agents.serve("Second", at=WELL_KNOWN, path="/two")
    assert await stage.pull() == 2
    assert (await card_of_agent(two))["name"] == "Second"
    assert (await card_of_agent(one))["name"] == "First"
    stage.agents.asked.clear()
    assert await stage.pull() == 2
    assert len(stage.agents.asked) == 2, "each is asked where it was found"


async def test_a_name_that_another_card_has_is_refused_and_noted(stage: Stage):
    await stage.registry.agent(humanReadableId="weavers/first")
    agent = await pulled_agent(stage)
    stage.agents.serve("Weaver", humanReadableId="weavers/first")
    assert await stage.pull() == 2
    card = await card_of_agent(agent)
    assert (card["last_pull_status"], card["name"]) == ("attempted_failed", "Translator")
    assert "humanReadableId" in (await visit_of(agent))["trouble"]


async def test_a_host_that_is_not_public_is_not_asked_and_said_to_be_internal(stage: Stage):
    agent = await stage.registry.agent(
        supportedInterfaces=[
            {"url": "https://10.0.0.1/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
        ]
    )
    assert await stage.pull() == 1
    card = await card_of_agent(agent)
    assert (card["last_pull_status"], card["pull_failures"]) == ("internal_host", 0)
    assert card["last_pull_attempt_at"] is None
    assert (await stage.status())["reasons"]["internal_host"] == 1


async def test_a_host_without_tls_is_a_failure_that_says_so(stage: Stage):
    agent = await hosted_agent(stage.registry, "http://agent.example.org")
    assert await stage.pull() == 1
    assert (await card_of_agent(agent))["last_pull_status"] == "attempted_failed"
    assert (await visit_of(agent))["trouble"] == "The host is not called: plain_http."


async def test_suspended_and_inactive_cards_are_left_alone_and_revoked_ones_forgotten(stage: Stage):
    agents = [await pulled_agent(stage) for _ in range(3)]
    for agent, change in zip(
        agents, ("status = 'suspended'", "is_active = false", "status = 'revoked'"), strict=True
    ):
        sql = f"UPDATE catalogue_card SET {change} WHERE did = $1"
        await stage.registry.database.transaction(lambda tx, sql=sql, did=agent.did: tx.execute(sql, did))
    assert await stage.pull() == 3
    assert stage.agents.asked == []
    assert (await stage.status())["cards"] == 2


async def test_operators_see_how_the_pulls_stand(stage: Stage):
    stage.agents.serve()
    await hosted_agent(stage.registry, stage.agents.url)
    assert (await stage.status())["reasons"]["never_attempted"] == 1
    failing = await hosted_agent(stage.registry, f"{stage.agents.url}/nowhere")
    await pull_cards(stage.registry)
    status = await stage.status()
    assert (status["cards"], status["pulled"], status["due"], status["under_way"]) == (2, 1, 0, 0)
    assert status["interval_seconds"] == 300
    assert status["reasons"] == {
        "no_interface_url": 0,
        "internal_host": 0,
        "never_attempted": 0,
        "attempted_failed": 1,
    }
    assert status["last_cycle"] == {"attempted": 2, "succeeded": 1, "changed": 1}
    assert [(one["did"], one["failures"]) for one in status["failing"]] == [(failing.did, 1)]


async def replace_card(agent: TestAgent, document: dict[str, Any]) -> None:
    """Put a new card as the agent's owner, whose token an agent made by its host carries."""
    path = f"/api/v1/agent-cards/{agent.did}"
    answer = await agent.registry.http.put(path, json={"card_data": document}, headers=agent.headers)
    assert answer.status_code == 200, answer.text


async def test_a_card_signed_by_its_agent_is_noted_and_a_changed_one_is_refused_where_that_is_enforced(
    stage: Stage,
):
    stage.agents.serve()
    agent = await hosted_agent(stage.registry, stage.agents.url)
    runtime = stage.registry.runtime
    enforcing = runtime.settings.model_copy(update={"jws_enforce": True, "jws_require_signature": True})
    stage.registry.runtime = replace(runtime, settings=enforcing)
    try:
        assert await stage.pull() == 1
        assert "carries no signature" in (await visit_of(agent))["trouble"]
        card = stage.agents.card(pricing={"model": "per-request", "base_rate": 2})
        stage.agents.cards[WELL_KNOWN] = {**card, "signatures": [signature_of(agent, card)]}
        assert await stage.pull() == 1
        assert (await card_of_agent(agent))["last_pull_status"] == "updated"
        assert await signature_time(agent) is not None
        stage.agents.cards[WELL_KNOWN]["pricing"] = {"model": "per-request", "base_rate": 0}
        assert await stage.pull() == 1
        assert "signature is refused" in (await visit_of(agent))["trouble"]
        assert (await card_of_agent(agent))["card_data"]["pricing"]["base_rate"] == 2
    finally:
        stage.registry.runtime = runtime


async def test_by_default_an_unsigned_card_is_taken_and_a_bad_signature_only_logged(stage: Stage):
    agent = await pulled_agent(stage)
    stage.agents.serve(description="New.", signatures=[{"protected": "e30", "signature": "AA"}])
    assert await stage.pull() == 1
    assert (await card_of_agent(agent))["description"] == "New."
    assert await signature_time(agent) is None


def signature_of(agent: TestAgent, card: dict[str, Any]) -> dict[str, str]:
    """The agent's signature over the whole of a card."""
    key = load_pem_private_key(agent.created["private_key_pem"].encode(), None)
    assert isinstance(key, Ed25519PrivateKey)
    header = {"alg": "EdDSA", "typ": "JOSE", "kid": "any", "canon": "sorted-ascii-json/1"}
    protected, payload = encoded(json.dumps(header).encode()), encoded(canonical_json(card))
    return {"protected": protected, "signature": encoded(key.sign(f"{protected}.{payload}".encode()))}


def encoded(raw: bytes) -> str:
    return urlsafe_b64encode(raw).rstrip(b"=").decode()


async def signature_time(agent: TestAgent) -> Any:
    sql = "SELECT signature_verified_at FROM catalogue_card WHERE did = $1"
    return (await one_row(agent.registry, sql, agent.did))["signature_verified_at"]
