"""Reads that do not wait for each other are one statement; each gets its own rows, as if it had asked alone."""

import random
from collections.abc import Iterable
from typing import Any

import asyncpg
import pytest

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.joined_reads import read_each, read_together, reading
from tests.registry import TestRegistry

KINDS = (
    ("SELECT n, n * $2::bigint AS product FROM generate_series(1, $1::int) n ORDER BY n DESC", (7, 3)),
    ("WITH a AS (SELECT $1::text AS name) SELECT name, now() AS at, NULL::bytea AS none FROM a", ("$1 'x'",)),
    ("SELECT n FROM generate_series(1, 5) n WHERE n > $1 -- none\n", (5,)),
    ("SELECT 1 AS one, 2 AS one, ARRAY['a', NULL] AS list, '{\"a\": 1}'::jsonb", ()),
    ("SELECT v FROM unnest($1::text[]) WITH ORDINALITY AS u (v, place) ORDER BY place", (["b", "a", "c"],)),
    ("SELECT NULL AS only", ()),
)


class Counted:
    """A transaction that counts the statements it is sent."""

    def __init__(self, tx: Tx) -> None:
        self.tx = tx
        self.sent = 0

    async def fetch(self, query: str, *values: Any, **options: Any) -> list[asyncpg.Record]:
        self.sent += 1
        return await self.tx.fetch(query, *values, **options)


async def rows_of(tx: Tx, query: str, values: Iterable[Any]) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in await tx.fetch(query, *values)]


async def test_each_read_has_the_rows_that_it_would_have_alone(registry: TestRegistry):
    async def compare(tx: Tx) -> None:
        alone = {kind[0]: await rows_of(tx, *kind) for kind in KINDS}
        for seed in range(50):
            chosen = random.Random(seed).choices(KINDS, k=1 + seed % 7)
            counted: Any = Counted(tx)
            found = await read_each(counted, [reading(rows_of, *kind) for kind in chosen])
            assert found == [alone[query] for query, _ in chosen], seed
            assert counted.sent == 1

    await registry.database.read(compare)


async def test_reads_go_on_together_from_statement_to_statement(registry: TestRegistry):
    async def chained(tx: Tx, steps: int) -> int:
        number = 1
        for _ in range(steps):
            number = await tx.fetchval("SELECT $1::int * 2", number)
        return number

    async def nested(tx: Tx) -> tuple[int, int]:
        return await read_together(tx, reading(chained, 1), reading(chained, 3))

    async def nothing(_: Tx) -> str:
        return "no statement"

    async def read(tx: Tx) -> tuple[Any, int]:
        counted: Any = Counted(tx)
        return await read_together(counted, nested, reading(chained, 4), nothing), counted.sent

    assert await registry.database.read(read) == (((2, 8), 16, "no statement"), 4)


async def test_a_row_is_read_by_name_and_by_number(registry: TestRegistry):
    async def row_of(tx: Tx) -> Any:
        return await tx.fetchrow("SELECT 1 AS a, 'x' AS b")

    async def read(tx: Tx) -> tuple[Any, Any]:
        return await read_together(tx, row_of, row_of)

    row, _ = await registry.database.read(read)
    assert (row["a"], row[1], len(row), tuple(row)) == (1, "x", 2, (1, "x"))
    assert dict(row) == dict(**row) == dict(row.items()) == {"a": 1, "b": "x"}
    assert (list(row.keys()), list(row.values())) == (["a", "b"], [1, "x"])
    assert (row.get("b"), row.get("c"), row.get("c", 3), "a" in row, 1 in row) == ("x", None, 3, True, False)
    with pytest.raises(KeyError):
        row["c"]


async def test_the_first_read_that_fails_ends_the_others(registry: TestRegistry):
    ended = []

    async def fails(tx: Tx, name: str) -> None:
        await tx.fetch("SELECT 1")
        raise LookupError(name)

    async def goes_on(tx: Tx) -> None:
        try:
            await tx.fetch("SELECT 1")
            await tx.fetch("SELECT 2")
        finally:
            ended.append(True)

    with pytest.raises(LookupError, match="first"):
        await registry.database.read(
            lambda tx: read_together(tx, goes_on, reading(fails, "first"), reading(fails, "second"))
        )
    assert ended == [True]


async def test_joined_reads_have_one_snapshot(registry: TestRegistry):
    async def snapshot(tx: Tx) -> Any:
        return await tx.fetchval("SELECT pg_current_snapshot()::text")

    first, second = await registry.database.query(lambda tx: read_together(tx, snapshot, snapshot))
    assert first == second
