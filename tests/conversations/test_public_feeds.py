"""Activity feed and showcase for anybody (Specification 8, public pages and feeds)."""

from typing import Any

import pytest

from hansa.foundation.events import (
    ContractCompleted,
    DisputeFiled,
    Event,
    ProposalCreated,
    RegistryFederated,
    RewardsDistributed,
)
from hansa.rooms import journal
from hansa.rooms.journal.counting import count_settled
from tests.browsing import BrowserOf, browser_of
from tests.registry import TestAgent, TestRegistry

FEED = "/system/activity-feed"
KINDS = {
    "AGENT_ONBOARDED",
    "FEDERATION_APPROVED",
    "DISPUTE_FILED",
    "GOVERNANCE_PROPOSAL",
    "REWARD_CYCLE",
    "CONTRACT_COMPLETED",
}


@pytest.fixture(scope="module")
def registry(registry_of_file: TestRegistry) -> TestRegistry:
    return registry_of_file


@pytest.fixture(scope="module")
async def parties(registry: TestRegistry) -> tuple[TestAgent, TestAgent]:
    """Two agents in one fact of each kind."""
    alice, bob = await registry.agent(name="Alice"), await registry.agent(name="Bob")
    facts: tuple[Event, ...] = (
        RegistryFederated("Vega", "vega.example", "vega-1"),
        DisputeFiled(7, alice.did, bob.did, "NON_DELIVERY", None, None, "tx-1", "5", "AVT"),
        ProposalCreated(3, alice.did, "Lower the bond", "signal", None, "2026-12-01T00:00:00Z", "10", "5"),
        RewardsDistributed(9, "did:hansa:system:fee_collector", alice.did, "1.5", "AVT"),
        ContractCompleted(
            4, alice.did, bob.did, amount="10", fee="0.1", currency="AVT", tx_id=8, counts=True
        ),
    )
    await registry.database.transaction(lambda tx: journal.append(tx, *facts))
    return alice, bob


async def feed(registry: TestRegistry, path: str = "", **query: object) -> dict[str, Any]:
    answer = await registry.get(FEED + path, params=query)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def test_the_feed_has_six_kinds_newest_first(registry, parties):
    found = await feed(registry, limit=50)
    members = {"id", "event_type", "title", "description", "event_metadata", "created_at"}
    assert all(set(item) == members for item in found["items"])
    assert {item["event_type"] for item in found["items"]} == KINDS
    moments = [item["created_at"] for item in found["items"]]
    assert moments == sorted(moments, reverse=True)
    assert found["total"] == len(found["items"])


async def test_a_dispute_in_the_feed_names_no_party(registry, parties):
    [item] = (await feed(registry, "/by-type/DISPUTE_FILED"))["items"]
    assert item["event_metadata"] == {}
    assert not any(agent.did in str(item) for agent in parties)
    assert item["description"] == "A dispute was filed."


async def test_the_other_kinds_name_what_is_public(registry, parties):
    alice, bob = parties
    [completed] = (await feed(registry, "/by-type/CONTRACT_COMPLETED"))["items"]
    assert completed["description"] == f"{alice.did} paid {bob.did} 10 AVT for contract 4."
    [proposed] = (await feed(registry, "/by-type/GOVERNANCE_PROPOSAL"))["items"]
    assert proposed["event_metadata"]["title"] == "Lower the bond"
    [federated] = (await feed(registry, "/by-type/FEDERATION_APPROVED"))["items"]
    assert federated["event_metadata"]["registry_name"] == "Vega"
    [rewarded] = (await feed(registry, "/by-type/REWARD_CYCLE"))["items"]
    assert rewarded["event_metadata"]["amount"] == "1.5"


async def test_the_total_is_exact_before_and_after_the_counters_have_followed(registry, parties):
    for _ in range(3):
        await registry.agent()
    written = await registry.database.query(
        lambda tx: tx.fetchval("SELECT count(*) FROM journal_event WHERE event_type = 'AgentOnboarded'")
    )
    assert (await feed(registry, "/by-type/AGENT_ONBOARDED", limit=1))["total"] == written
    await registry.transactions_ended()
    await registry.database.transaction(count_settled)
    assert (await feed(registry, "/by-type/AGENT_ONBOARDED", limit=1))["total"] == written


async def test_pages_of_the_feed_follow_each_other_without_a_gap(registry, parties):
    whole = [item["id"] for item in (await feed(registry, limit=50))["items"]]
    pages = [
        item["id"]
        for offset in range(0, len(whole), 2)
        for item in (await feed(registry, limit=2, offset=offset))["items"]
    ]
    assert pages == whole
    assert len((await feed(registry))["items"]) == min(10, len(whole))


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("/by-type/NONE", {}),
        ("/by-type/AgentOnboarded", {}),
        ("", {"limit": 0}),
        ("", {"limit": 51}),
        ("", {"offset": -1}),
    ],
)
async def test_an_unknown_kind_and_a_limit_beyond_50_are_refused(registry, path, query):
    assert (await registry.get(FEED + path, params=query)).status_code == 422


async def shown(registry: TestRegistry) -> list[dict[str, Any]]:
    await registry.indexed()
    answer = await registry.get("/public/showcase")
    assert answer.status_code == 200, answer.text
    assert set(answer.json()) == {"items", "as_of"}
    items: list[dict[str, Any]] = answer.json()["items"]
    assert all(set(item) == {"did", "name", "reason", "note"} for item in items)
    return items


async def pinned(registry: TestRegistry, *pins: dict[str, str]) -> Any:
    administrator = await registry.administrator("admin_platform")
    return await registry.http.put(
        "/api/v1/admin/showcase", json={"pinned": list(pins)}, headers=administrator.headers
    )


async def test_the_showcase_has_one_agent_of_each_owner_and_pins_come_first(registry_of_test):
    registry = registry_of_test
    owner = await registry.developer()
    first, second = await owner.agent(name="First"), await owner.agent(name="Second")
    other = await registry.agent(name="Other")
    items = await shown(registry)
    assert {item["reason"] for item in items} == {"newest"}
    assert len(items) == 2
    answer = await pinned(registry, {"did": first.did, "note": "Try this"}, {"did": second.did})
    assert answer.status_code == 200, answer.text
    items = await shown(registry)
    assert [(item["did"], item["reason"], item["note"]) for item in items[:1]] == [
        (first.did, "pinned", "Try this")
    ]
    assert [item["did"] for item in items[1:]] == [other.did]


async def test_a_pinned_agent_that_is_not_listed_or_does_not_answer_is_not_shown(registry_of_test):
    registry = registry_of_test
    agent = await registry.agent()
    assert (await pinned(registry, {"did": agent.did, "note": "Here"})).status_code == 200
    for change, is_shown in (
        ("unlisted = true", False),
        ("unlisted = false, liveness = 'unreachable'", False),
        ("liveness = 'alive', last_alive_at = now()", True),
    ):
        await registry.database.transaction(
            lambda tx, change=change: tx.execute(f"UPDATE catalogue_card SET {change}")
        )
        assert [item["did"] for item in await shown(registry)] == [agent.did] * is_shown


async def test_an_agent_with_verified_jobs_and_one_that_answers_are_shown_for_it(registry_of_test):
    registry = registry_of_test
    proven, answering, fresh = [await registry.agent() for _ in range(3)]
    for agent, change in (
        (proven, "verified_jobs = 12"),
        (answering, "liveness = 'alive', last_alive_at = now(), agent_score = 700"),
    ):
        await registry.database.transaction(
            lambda tx, agent=agent, change=change: tx.execute(
                f"UPDATE catalogue_card SET {change} WHERE did = $1",
                agent.did,
            )
        )
    for _ in range(4):
        fresh = await registry.agent()
    items = {item["did"]: item for item in await shown(registry)}
    assert (items[proven.did]["reason"], items[proven.did]["note"]) == ("most_verified", "12 verified jobs")
    assert items[answering.did]["reason"] == "best_answering"
    assert items[fresh.did]["reason"] == "newest"


async def test_pins_that_are_unknown_named_twice_or_too_many_are_refused_and_change_nothing(registry):
    agent = await registry.agent()
    assert (await pinned(registry, {"did": agent.did})).status_code == 200
    for pins, status in (
        ([{"did": "did:hansa:nobody"}], 404),
        ([{"did": agent.did}, {"did": agent.did}], 422),
        ([{"did": f"{agent.did}{number}"} for number in range(21)], 422),
        ([{"did": agent.did, "note": "x" * 201}], 422),
        ([{"did": agent.did, "note": "\u202e"}], 422),
    ):
        assert (await pinned(registry, *pins)).status_code == status
    assert agent.did in {item["did"] for item in await shown(registry) if item["reason"] == "pinned"}


async def test_administrators_pin_agents_in_the_browser(registry):
    agent = await registry.agent(name="Pinned by hand")
    browser = await browser_of(registry, await registry.administrator("admin_platform"))
    await browser.open("/administration/showcase")
    page = await browser.send("/administration/showcase", pinned=f"{agent.did} A note\n")
    assert "The pins are replaced." in page.text
    page = await registry.http.get("/showcase", headers={"Accept": "text/html"})
    assert "A note" in page.text
    page = await browser.send("/administration/showcase", pinned="nonsense")
    assert page.status_code == 422


async def test_every_page_leads_to_the_showcase_and_the_status_and_so_does_the_page_of_an_agent(registry):
    agent = await registry.agent(name="Shown")
    browser = BrowserOf(registry)
    for path in ("/catalogue", f"/agents/{agent.did}"):
        await browser.open(path)
        main, _, footer = browser.text.partition("<footer>")
        links = footer if path == "/catalogue" else main.partition("<main")[2]
        assert 'href="/showcase"' in links
        assert 'href="/status"' in links
