"""A card that was written is found by the next search of the same process (decision 0022)."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from hansa.doors.assembly import ASSEMBLY
from hansa.foundation.plumbing.jobs import run_jobs
from hansa.rooms.catalogue.search import SEARCHER, SearchQuery, searcher
from tests.registry import TestDeveloper, TestRegistry, another_process, at_once, card_of


@pytest.fixture
async def following(registry: TestRegistry) -> AsyncIterator[TestRegistry]:
    """A registry whose search follows the changes, as in a serving process."""
    async with SEARCHER.of(registry.runtime).following():
        yield registry


@pytest.fixture
def searched(following: TestRegistry, monkeypatch: pytest.MonkeyPatch) -> TestRegistry:
    """The same, where a write waits as long as a busy machine needs."""
    monkeypatch.setattr(searcher, "WRITE_WAITS_SECONDS", 60)
    return following


async def found(registry: TestRegistry, name: str) -> list[str]:
    answer = await registry.get("/agent-cards/discover", params={"q": name})
    assert answer.status_code == 200, answer.text
    return [item["name"] for item in answer.json()["results"]]


async def total(registry: TestRegistry) -> int:
    return (await registry.get("/agent-cards/discover")).json()["total"]


async def test_a_search_at_once_after_onboarding_finds_the_agent(searched: TestRegistry):
    developer = await searched.developer()
    for number in range(10):
        agent = await developer.agent(name=f"Fresh{number} Translator")
        answer = await searched.get("/discover", params={"query": f"Fresh{number}"})
        assert [result["did"] for result in answer.json()["results"]] == [agent.did]


async def test_agents_onboarded_at_the_same_moment_are_each_found_at_once(searched: TestRegistry):
    names = ["Chrysanthemum", "Barometer", "Locomotive", "Parliament", "Zeppelin", "Quicksilver"]
    developers = [await searched.developer() for _ in names]

    async def onboard_and_search(developer: TestDeveloper, name: str) -> list[str]:
        await developer.agent(name=name)
        return await found(searched, name)

    together = [onboard_and_search(*pair) for pair in zip(developers, names, strict=True)]
    assert await at_once(*together) == [[name] for name in names]


async def test_a_changed_card_is_found_by_its_new_words_at_once(searched: TestRegistry):
    developer = await searched.developer()
    agent = await developer.agent(name="Before")
    changed = await searched.http.put(
        f"/api/v1/agent-cards/{agent.did}",
        json={"card_data": card_of(name="Afterwards")},
        headers=developer.headers,
    )
    assert changed.status_code == 200, changed.text
    assert (await found(searched, "Afterwards"), await found(searched, "Before")) == (["Afterwards"], [])


async def test_a_listing_card_is_found_at_once(searched: TestRegistry):
    developer = await searched.developer()
    body = {"card_data": card_of(name="Listed")}
    created = await searched.post("/agent-cards", json=body, headers=developer.headers)
    assert created.status_code == 201, created.text
    assert await found(searched, "Listed") == ["Listed"]


async def unlist(developer: TestDeveloper, did: str, *, unlisted: bool = True) -> None:
    answer = await developer.registry.http.patch(
        f"/api/v1/agent-cards/{did}/listing", json={"unlisted": unlisted}, headers=developer.headers
    )
    assert answer.status_code == 200, answer.text


async def withdraw(developer: TestDeveloper, did: str) -> None:
    answer = await developer.registry.http.delete(f"/api/v1/agent-cards/{did}", headers=developer.headers)
    assert answer.status_code == 204, answer.text


async def end(developer: TestDeveloper, did: str) -> None:
    answer = await developer.registry.http.delete(f"/api/v1/agents/{did}", headers=developer.headers)
    assert answer.status_code == 200, answer.text


async def suspend(developer: TestDeveloper, did: str) -> None:
    await _administer(developer.registry, "suspend", did)


async def _administer(registry: TestRegistry, act: str, did: str) -> None:
    administrator = await registry.administrator("admin_enforcement")
    body = {"agent_dids": [did], "reason": "test"}
    answer = await registry.post(f"/admin/agents/bulk/{act}", json=body, headers=administrator.headers)
    assert answer.status_code == 200, answer.text


@pytest.mark.parametrize("hide", [unlist, withdraw, end, suspend])
async def test_a_hidden_card_leaves_results_and_counts_at_once(
    searched: TestRegistry, hide: Callable[[TestDeveloper, str], Awaitable[None]]
):
    developer = await searched.developer()
    await developer.agent(name="First")
    # The second agent of a developer holds no units, so it can be ended.
    agent = await developer.agent(name="Second")
    assert await total(searched) == 2
    await hide(developer, agent.did)
    assert (await found(searched, "Second"), await total(searched)) == ([], 1)


async def test_a_reinstated_and_a_listed_card_are_found_again_at_once(searched: TestRegistry):
    developer = await searched.developer()
    agent = await developer.agent(name="Again")
    await suspend(developer, agent.did)
    await _administer(searched, "reinstate", agent.did)
    assert await found(searched, "Again") == ["Again"]
    await unlist(developer, agent.did)
    await unlist(developer, agent.did, unlisted=False)
    assert await found(searched, "Again") == ["Again"]


async def test_the_agents_of_a_suspended_developer_leave_counts_at_once(searched: TestRegistry):
    developer = await searched.developer()
    agent = await developer.agent(name="Owned")
    administrator = await searched.administrator("admin_enforcement")
    developer_id = (await searched.get(f"/agent-cards/{agent.did}")).json()["developer_id"]
    path = f"/admin/developers/{developer_id}"
    stopped = await searched.post(f"{path}/suspend", json={"reason": "test"}, headers=administrator.headers)
    assert stopped.status_code == 200, stopped.text
    assert await total(searched) == 0
    restored = await searched.post(
        f"{path}/reinstate", json={"reason": "test"}, headers=administrator.headers
    )
    assert restored.status_code == 200, restored.text
    assert await total(searched) == 1


async def test_a_write_is_answered_when_the_index_cannot_be_brought_up_to_date(following: TestRegistry):
    developer = await following.developer()
    # While this lock is held no catch-up begins.
    async with SEARCHER.of(following.runtime)._turn:
        agent = await developer.agent(name="Late")
    answer = await following.get(f"/agent-cards/{agent.did}")
    assert answer.status_code == 200, answer.text


async def test_a_card_is_found_by_another_process_as_soon_as_it_is_notified(
    searched: TestRegistry, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    """The other process has a data directory of its own, as on another machine."""
    settings = searched.settings.model_copy(update={"data_dir": tmp_path / "another"})
    other = another_process(replace(searched.runtime, settings=settings))
    other_searcher = SEARCHER.of(other)
    developer = await searched.developer()
    async with other_searcher.following():
        # From here on it does not look by itself.
        monkeypatch.setattr(searcher, "FOLLOW_SECONDS", 3600)
        monkeypatch.setattr(searcher, "REST_SECONDS", 3600)
        monkeypatch.setattr(other_searcher, "_rest", 3600)
        notified = asyncio.create_task(run_jobs(other, (), ASSEMBLY.wakes))
        for number in range(5):
            await developer.agent(name=f"Noticed{number} Translator")
            async with asyncio.timeout(60):
                while not (await other_searcher.hits(SearchQuery(q=f"Noticed{number}"))).total:  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
        notified.cancel()
        await asyncio.wait([notified])
