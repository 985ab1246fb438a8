"""Pulls beside each other and beside an owner's word: nothing is made twice, and nobody waits for who hangs."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from time import monotonic

import pytest
from msgspec.structs import replace

from hansa.foundation.plumbing.jobs.running import claim
from hansa.rooms.catalogue.pulls import CARD_PULLS, store
from hansa.rooms.catalogue.pulls.pulling import pull, settle
from hansa.rooms.catalogue.pulls.records import Served, Unserved
from hansa.rooms.catalogue.pulls.visit import Visit
from hansa.rooms.catalogue.replace import replace_document
from tests.properties.scale import by_tier, printed_seed
from tests.registry import DatabaseFarm, StartRegistry, TestRegistry, at_once
from tests.rooms.catalogue.pulls.agent_host import (
    PULL_EVENTS,
    PULL_STATUS,
    AgentHost,
    card_of_agent,
    forget_visits,
    hosted_agent,
    hosting,
    let_be_due,
    one_row,
    pull_cards,
    registry_beside_a_host,
    registry_that_pulls,
    visit_of,
)
from tests.running_jobs import working

INTERVAL = 300


class Stage:
    """A registry and a host of agents that it may call."""

    def __init__(self, registry: TestRegistry, agents: AgentHost) -> None:
        self.registry, self.agents = registry, agents

    async def claim(self, most: int = 10) -> list[Visit]:
        claimed = await claim(self.registry.runtime, CARD_PULLS, most)
        visits = [
            await self.registry.database.query(lambda tx, job=job: store.visit_of(tx, job, "pull"))
            for job in claimed
        ]
        return [visit for visit in visits if visit]

    async def settle(self, visit: Visit, answered: Served | Unserved) -> str:
        return await self.registry.database.transaction(lambda tx: settle(tx, visit, answered, INTERVAL))

    async def pulls_published(self) -> int:
        return (
            await one_row(
                self.registry,
                "SELECT count(*) AS pulls_published FROM journal_event WHERE event_type = 'AgentCardPulled'",
            )
        )["pulls_published"]


@pytest.fixture(scope="module")
async def opened(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Stage]:
    dsn = await database_farm.fresh()
    async with registry_beside_a_host(dsn, tmp_path_factory.mktemp("at-once")) as (registry, agents):
        yield Stage(registry, agents)


@pytest.fixture
async def stage(opened: Stage) -> AsyncIterator[Stage]:
    opened.agents.pause = 0.0
    opened.agents.asked.clear()
    yield opened
    await forget_visits(opened.registry)


async def test_a_visit_is_made_by_whoever_claimed_it_last(stage: Stage):
    stage.agents.serve()
    agent = await hosted_agent(stage.registry, stage.agents.url)
    (dead,) = await stage.claim()
    assert await stage.claim() == []
    await let_be_due(stage.registry)
    (alive,) = await stage.claim()
    old, new = stage.agents.card(description="Old."), stage.agents.card(description="New.")
    before = await stage.pulls_published()
    assert await stage.settle(alive, Served("x", None, new, new)) == "updated"
    assert await stage.settle(dead, Served("x", None, old, old)) == "taken_over"
    assert await stage.settle(alive, Served("x", None, old, old)) == "taken_over"
    assert await stage.pulls_published() == before + 1
    assert (await card_of_agent(agent))["description"] == "New."


async def test_two_processes_pull_every_card_once(stage: Stage):
    stage.agents.serve()
    made = [await hosted_agent(stage.registry, stage.agents.url) for _ in range(6)]
    stage.agents.asked.clear()
    counts = await at_once(*(pull_cards(stage.registry) for _ in range(2)))
    assert sum(counts) == len(stage.agents.asked) == len(made)
    assert stage.agents.listening.most_open == 1, "one connection to a host"


async def test_what_was_found_at_an_address_that_the_card_has_left_is_no_word_about_it(stage: Stage):
    agent = await stage.registry.agent(supportedInterfaces=stage.agents.card()["supportedInterfaces"])
    await let_be_due(stage.registry)
    (visit,) = await stage.claim()
    moved = stage.agents.card(path="/moved")
    card_id = (await card_of_agent(agent))["card_id"]
    await stage.registry.database.transaction(lambda tx: replace_document(tx, card_id, moved, source="owner"))
    found = stage.agents.card(description="Found at the old address.")
    assert await stage.settle(visit, Served("x", None, found, found)) == "moved"
    card = await card_of_agent(agent)
    assert card["description"] != "Found at the old address."
    assert card["last_pull_status"] is None
    assert (await visit_of(agent))["wait"] <= 0


async def test_an_owners_word_and_a_pull_at_once_leave_one_of_the_two_and_lose_no_version(stage: Stage):
    stage.agents.serve()
    agent = await hosted_agent(stage.registry, stage.agents.url)
    await pull_cards(stage.registry)
    card_id = (await card_of_agent(agent))["card_id"]
    shuffled = random.Random(printed_seed())
    for number in range(by_tier(8, 60, 400)):
        served = stage.agents.serve(description=f"Agent {number}")
        mine = {**served, "description": f"Owner {number}"}
        await let_be_due(stage.registry)

        async def owner(document=mine) -> object:
            await asyncio.sleep(shuffled.uniform(0, 0.02))
            return await stage.registry.database.transaction(
                lambda tx: replace_document(tx, card_id, document, source="owner")
            )

        before = (await version_of(stage, card_id))["version"]
        _, written = await at_once(pull_cards(stage.registry), owner())
        assert written is not None
        after = await version_of(stage, card_id)
        assert after["version"] == before + 2
        assert after["description"] in {f"Agent {number}", f"Owner {number}"}
        assert after["is_whole"]


async def version_of(stage: Stage, card_id: int) -> dict:
    return await one_row(
        stage.registry,
        "SELECT version, description, description = card_data ->> 'description' AS is_whole"
        " FROM catalogue_card WHERE id = $1",
        card_id,
    )


async def test_a_cut_round_leaves_its_visits_to_be_made_again(stage: Stage):
    stage.agents.serve()
    agent = await hosted_agent(stage.registry, stage.agents.url)
    stage.agents.pause = 5.0
    cut = asyncio.create_task(pull_cards(stage.registry))
    while not stage.agents.asked:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    cut.cancel()
    await asyncio.gather(cut, return_exceptions=True)
    assert (await visit_of(agent))["outcome"] is None
    stage.agents.pause = 0.0
    await let_be_due(stage.registry)
    assert await pull_cards(stage.registry) == 1
    visit = await visit_of(agent)
    assert (visit["lease_until"], visit["outcome"]) == (None, "updated")


async def test_cards_that_never_failed_go_first(stage: Stage):
    made = [await hosted_agent(stage.registry, f"https://a{number}.example.org") for number in range(4)]
    failed = [agent.did for agent in made[:2]]
    for visit in [visit for visit in await stage.claim() if visit.did in failed]:
        assert await stage.settle(visit, Unserved("attempted_failed", "No.")) == "attempted_failed"
    await let_be_due(stage.registry)
    first = await stage.claim(2)
    assert {visit.did for visit in first} == {agent.did for agent in made[2:]}
    assert {visit.did for visit in await stage.claim(2)} == set(failed)


async def test_hosts_that_hang_do_not_hold_up_the_others(
    start_registry: StartRegistry, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("hansa.rooms.catalogue.pulls.pulling.SECONDS", 60.0)
    monkeypatch.setattr("hansa.foundation.plumbing.jobs.worker.DRAIN_SECONDS", 0.1)
    async with AsyncExitStack() as stack:
        hosts = [await stack.enter_async_context(hosting()) for _ in range(20)]
        registry = await registry_that_pulls(start_registry, *hosts)
        owner = await registry.developer()
        for number, one in enumerate(hosts):
            one.pause = 3600.0 if number % 4 == 0 else 0.0
            one.serve()
            # Below their own address and at the root: each host is asked once if it serves.
            one.cards["/a2a/.well-known/agent-card.json"] = one.card(description="Pulled.")
            await owner.agent(supportedInterfaces=one.card()["supportedInterfaces"])
        await let_be_due(registry)
        began = monotonic()
        async with working(registry.runtime, replace(CARD_PULLS, started_at_once=3)):
            while await succeeded(registry) < 15:
                assert monotonic() - began < 50, "the others wait for those that hang"
                await asyncio.sleep(0.1)
            took = monotonic() - began
            administrator = await registry.administrator("admin_platform")
            status = await registry.get(PULL_STATUS, headers=administrator.headers)
            assert status.json()["under_way"] == 5
        print(f"15 of 20 hosts pulled in {took:.1f} s while 5 hung")
        events = await registry.get(PULL_EVENTS, headers=administrator.headers)
        assert events.json()["pagination"]["total_items"] == 15
        status = await registry.get(PULL_STATUS, headers=administrator.headers)
        assert (status.json()["under_way"], status.json()["due"]) == (0, 5), (
            "a process that ends gives its leases back"
        )


async def succeeded(registry: TestRegistry) -> int:
    return (
        await one_row(
            registry, "SELECT count(*) AS done FROM catalogue_visit WHERE outcome IN ('updated', 'unchanged')"
        )
    )["done"]


async def test_a_pull_asks_for_no_more_time_than_its_deadline(stage: Stage, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("hansa.rooms.catalogue.pulls.pulling.SECONDS", 0.3)
    agent = await hosted_agent(stage.registry, stage.agents.url)
    stage.agents.pause = 3600.0
    (visit,) = await stage.claim()
    began = monotonic()
    assert await pull(stage.registry.runtime, visit) == "attempted_failed"
    assert monotonic() - began < 60
    assert (await visit_of(agent))["trouble"] == "The host gave no answer: timeout."
