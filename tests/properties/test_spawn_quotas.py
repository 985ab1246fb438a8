"""Quotas of the agents that agents make, under many requests at once."""

import asyncio
from collections import Counter
from uuid import uuid4

import pytest

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.errors import Refused
from hansa.rooms import agents
from tests.registry import TestAgent, TestRegistry

AT_ONCE = 60
OLDER = "UPDATE agents_spawn SET spawned_at = spawned_at - interval '2 minutes' WHERE root_did = $1"


async def fork_many(registry: TestRegistry, creator: TestAgent, count: int = AT_ONCE) -> Counter[str]:
    """Count so many forks of one agent at once; returns the outcomes by their codes."""

    async def fork() -> str:
        made = f"did:hansa:test:{uuid4()}"

        async def counted(tx: Tx) -> None:
            await agents.count_fork(tx, await agents.hold_place(tx, creator.did), made)

        try:
            await registry.database.transaction(counted)
        except Refused as refusal:
            return refusal.code
        return "counted"

    return Counter(await asyncio.gather(*(fork() for _ in range(count))))


async def make_older(registry: TestRegistry, root: TestAgent) -> None:
    """Let the minute of all that the tree has be over."""
    await registry.database.transaction(lambda tx: tx.execute(OLDER, root.did))


async def test_of_sixty_at_once_ten_fit_into_the_minute(registry: TestRegistry):
    root = await registry.agent()
    assert await fork_many(registry, root) == {"counted": 10, "QUOTA_REACHED": 50}


async def test_a_tree_has_at_most_fifty_living_however_many_come_at_once(registry: TestRegistry):
    root = await registry.agent()
    total: Counter[str] = Counter()
    for _ in range(6):
        total += await fork_many(registry, root)
        await make_older(registry, root)
    assert total["counted"] == 50
    living = "SELECT count(*) FROM agents_spawn WHERE root_did = $1 AND ended_at IS NULL"
    assert await registry.database.query(lambda tx: tx.fetchval(living, root.did)) == 50


async def test_sixty_at_once_fill_a_tree_to_exactly_fifty(
    registry: TestRegistry, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("hansa.rooms.agents.lineage.rules.PER_MINUTE", AT_ONCE)
    root = await registry.agent()
    assert await fork_many(registry, root) == {"counted": 50, "QUOTA_REACHED": 10}


async def test_a_fork_that_ended_leaves_its_place(registry: TestRegistry, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("hansa.rooms.agents.lineage.rules.PER_MINUTE", AT_ONCE)
    root = await registry.agent()
    assert (await fork_many(registry, root))["counted"] == 50
    ended = (
        "UPDATE agents_spawn SET ended_at = clock_timestamp() WHERE did = (SELECT min(did) FROM agents_spawn)"
    )
    await registry.database.transaction(lambda tx: tx.execute(ended))
    assert await fork_many(registry, root, 2) == {"counted": 1, "QUOTA_REACHED": 1}


async def test_a_suspended_agent_makes_none(registry: TestRegistry):
    root = await registry.agent()
    await registry.database.transaction(lambda tx: agents.suspend(tx, root.did))
    assert await fork_many(registry, root, 1) == {"AGENT_SUSPENDED": 1}
