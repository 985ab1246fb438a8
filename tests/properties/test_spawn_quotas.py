"""Quotas of the agents that agents make, under many requests at once."""

import asyncio
from collections import Counter
from decimal import Decimal
from uuid import uuid4

import pytest

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.errors import Refused
from hansa.foundation.values.money import units
from hansa.rooms import agents, ledger, spawn
from tests.properties.proof import prove_book
from tests.properties.test_spawn_interleavings import prove_lineage, spawn_order
from tests.registry import TestAgent, TestRegistry
from tests.spawning import audited

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


async def test_of_sixty_children_spawned_at_once_fifty_live_and_each_was_paid_for_once(
    registry: TestRegistry, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("hansa.rooms.agents.lineage.rules.PER_MINUTE", AT_ONCE)
    made = await registry.agent()
    parent = await registry.database.query(lambda tx: agents.active_agent(tx, made.did))

    async def spawned() -> str:
        order = spawn_order(registry, "1")
        try:
            await registry.database.transaction(
                lambda tx: spawn.spawn(tx, parent, parent.did, order, registry.runtime)
            )
        except Refused as refusal:
            return refusal.code
        return "spawned"

    outcomes = Counter(await asyncio.gather(*(spawned() for _ in range(AT_ONCE))))
    assert outcomes == {"spawned": 50, "QUOTA_REACHED": 10}
    children = await registry.database.query(lambda tx: agents.children_of(tx, parent.did, limit=AT_ONCE))
    purses = await registry.database.query(lambda tx: ledger.balances_of(tx, [one.did for one in children]))
    assert [purse.liquid for purse in purses.values()] == [units(1)] * 50
    # The fee grows with the volume of an hour; each is paid by the parent on top.
    assert Decimal(await made.balance()) < 50 - 50 * Decimal("0.005") + Decimal("0.001")
    await registry.database.read(prove_lineage)
    await registry.database.read(prove_book)
    await audited(registry)
