"""Agents whose achievements and flares are looked at, in a registry in which events are followed at once."""

from typing import Any

import httpx2

from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms.achievements.counting import LIVES_AND_BONDS, count_signals
from hansa.rooms.journal.store import COLUMNS, stored
from tests.all_events import ALL_EVENTS
from tests.registry import TestAgent, TestDeveloper, TestRegistry
from tests.rooms.reputation.rated import Rated

_EVENTS = f"SELECT {COLUMNS} FROM {ALL_EVENTS} e WHERE event_type = ANY($1) ORDER BY seq"
DERIVED = ("achievements_tally", "achievements_life", "achievements_earned")


async def follow(rated: Rated) -> None:
    """Bring the new events into reputation and achievements."""
    await rated.follow()
    await count(rated.registry)


async def count(registry: TestRegistry) -> None:
    """Count every event in the achievements, those that were counted before included."""

    async def react(tx: Tx) -> None:
        for event in stored(await tx.fetch(_EVENTS, list(LIVES_AND_BONDS.type_names))):
            await LIVES_AND_BONDS.react(tx, event)

    await registry.database.transaction(react)
    await registry.database.transaction(count_signals)


async def rebuild(registry: TestRegistry) -> None:
    """Forget all results, and count every event from the first one on."""

    async def forget(tx: Tx) -> None:
        await tx.execute(f"TRUNCATE {', '.join(DERIVED)}")
        await tx.execute("UPDATE achievements_progress SET counted = 0")

    await registry.database.transaction(forget)
    await count(registry)


async def results(registry: TestRegistry) -> dict[str, list[tuple[Any, ...]]]:
    """All rows that are derived from events."""

    async def read(tx: Tx) -> dict[str, list[tuple[Any, ...]]]:
        return {
            table: [tuple(row) for row in await tx.fetch(f"SELECT * FROM {table} ORDER BY 1, 2")]
            for table in DERIVED
        }

    return await registry.database.read(read)


async def achievements(registry: TestRegistry, did: str) -> dict[str, Any]:
    """The answer on the achievements of an agent."""
    answer = await registry.get(f"/achievements/agents/{did}")
    assert answer.status_code == 200, answer.text
    return answer.json()


def codes(found: dict[str, Any]) -> list[str]:
    """The codes of achievements that were earned, in order."""
    return [one["code"] for one in found["earned"]]


async def buy(
    agent: TestAgent, variant: str, price: str, *, key: str | None = None, **members: Any
) -> httpx2.Response:
    """Buy a flare."""
    headers = {**agent.headers, **({"Idempotency-Key": key} if key else {})}
    body = {"variant": variant, "price": price, **members}
    return await agent.registry.post("/achievements/flares/purchase", json=body, headers=headers)


async def select(agent: TestAgent, **slots: str | None) -> httpx2.Response:
    """Show these flares."""
    path = "/api/v1/achievements/flares/selection"
    return await agent.registry.http.put(path, json=slots, headers=agent.headers)


async def shows(owner: TestDeveloper, agent: TestAgent, **body: Any) -> httpx2.Response:
    """Show the achievements of an agent, or hide them."""
    path = f"/api/v1/achievements/agents/{agent.did}"
    return await owner.registry.http.patch(path, json=body, headers=owner.headers)
