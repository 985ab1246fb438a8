"""Transactions whose statements see one moment, and rivals that commit after that moment."""

import asyncpg
import pytest

from tests.registry import TestRegistry


async def taken(tx, name: str) -> bool:
    return await tx.fetchval("SELECT EXISTS (SELECT 1 FROM taken WHERE name = $1)", name)


@pytest.fixture
async def names(registry: TestRegistry) -> TestRegistry:
    """A registry with a table of unique names."""
    await registry.database.transaction(lambda tx: tx.execute("CREATE TABLE taken (name text PRIMARY KEY)"))
    return registry


async def test_a_unique_key_that_a_rival_took_after_the_snapshot_lets_the_whole_run_again(
    names: TestRegistry,
):
    rounds = []

    async def take(tx) -> str:
        rounds.append(await taken(tx, "ada"))
        if rounds == [False]:
            await names.database.transaction(lambda rival: rival.execute("INSERT INTO taken VALUES ('ada')"))
        if rounds[-1]:
            return "another took it"
        await tx.execute("INSERT INTO taken VALUES ('ada')")
        return "taken"

    assert await names.database.transaction(take, one_snapshot=True) == "another took it"
    assert rounds == [False, True]


async def test_without_one_snapshot_a_unique_key_that_is_taken_is_the_callers_to_judge(names: TestRegistry):
    await names.database.transaction(lambda tx: tx.execute("INSERT INTO taken VALUES ('ada')"))
    with pytest.raises(asyncpg.UniqueViolationError):
        await names.database.transaction(lambda tx: tx.execute("INSERT INTO taken VALUES ('ada')"))
