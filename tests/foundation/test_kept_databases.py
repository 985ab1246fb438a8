"""A database that earlier tests used holds the same as a copy of the founded one."""

from pathlib import Path

import asyncpg

from tests.founded import FoundedRegistries, RegistriesOfATest
from tests.kept_databases import SEQUENCES, TABLES, Table
from tests.registry import DatabaseFarm, TestRegistry

USES_WITHOUT_SUCCESS_MAX = 6


async def content_of(registry: TestRegistry) -> dict[str, list[object]]:
    """Every row of every table, and every sequence."""

    async def read(tx: "asyncpg.Connection[asyncpg.Record]") -> dict[str, list[object]]:
        tables = [str(Table(*names)) for names in await tx.fetch(TABLES)]
        found = {
            table: [row for (row,) in await tx.fetch(f"SELECT t::text FROM ONLY {table} t ORDER BY 1")]
            for table in tables
        }
        return {**found, "sequences": [tuple(row) for row in await tx.fetch(SEQUENCES)]}

    return await registry.database.read(read)


async def test_a_database_is_used_again_with_what_founding_left(
    database_farm: DatabaseFarm, founded_registries: FoundedRegistries, tmp_path: Path
):
    addresses: list[str] = []
    contents: list[dict[str, list[object]]] = []
    # A database is dropped after `USES_MAX` uses, and where its connections are not idle in time.
    while len(addresses) == len(set(addresses)):
        assert len(addresses) < USES_WITHOUT_SUCCESS_MAX
        registries = RegistriesOfATest(database_farm, founded_registries, tmp_path / str(len(addresses)))
        registry = await registries.start()
        addresses.append(registry.database.dsn)
        contents.append(await content_of(registry))
        payer, payee = await registry.agent(), await registry.agent()
        assert (await payer.transfer(payee, "1")).status_code == 200
        await registry.database.transaction(lambda tx: tx.execute("DELETE FROM journal_emission_policy"))
        await registry.outbox()
        assert await content_of(registry) != contents[0]
        await registries.end()
    assert all(content == contents[0] for content in contents)


async def test_a_database_whose_schema_was_changed_is_not_used_again(
    database_farm: DatabaseFarm, founded_registries: FoundedRegistries, tmp_path: Path
):
    addresses = []
    for use in range(2):
        registries = RegistriesOfATest(database_farm, founded_registries, tmp_path / str(use))
        registry = await registries.start()
        addresses.append(registry.database.dsn)
        await registry.database.transaction(
            lambda tx: tx.execute("ALTER TABLE journal_emission_policy ADD mark integer")
        )
        await registries.end()
    assert addresses[0] != addresses[1]
