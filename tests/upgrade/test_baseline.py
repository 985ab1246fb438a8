"""The baseline is the schema of the former migrations: a database at the last of them is stamped, an older one refused."""

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from hansa.foundation.plumbing.storage.embedded.binaries import installed
from hansa.foundation.plumbing.storage.migrate import (
    BASELINE,
    FORMER_CHAIN_END,
    LAST_COMMIT_OF_FORMER_CHAIN,
    Migrated,
    migrate,
    newest_schema,
    present_schema,
    renamed_sequences,
)
from hansa.foundation.values.errors import Unavailable
from tests.operation.own_database import own_database
from tests.upgrade.restore import restore_dump

# Rows that the former migrations wrote into an empty database, without their times; a line for each.
SEEDED = Path(__file__).with_name("seeded.jsonl")

# Rows of another registry, which the dumped one never met: each kind that a constraint to be validated distinguishes.
OF_ANOTHER_REGISTRY = """
INSERT INTO ledger_crossing (transit_id, direction, transfer_id, agent_id, amount, fee, state, tx_id, return_tx_id, decided_at,
  confirmed_at)
SELECT 1, direction, gen_random_uuid(), 2, 5, fee, state, tx_id, return_tx_id, decided_at, confirmed_at FROM (VALUES
  ('out', 0, 'reserved', 1, NULL, NULL::timestamptz, NULL::timestamptz), ('out', 0, 'committed', 1, NULL, now(), now()),
  ('out', 0, 'aborted', 1, 2, now(), NULL), ('in', 1, 'reserved', NULL, NULL, NULL, NULL),
  ('in', 1, 'committed', 1, NULL, now(), NULL), ('swap_out', 0, 'reserved', 1, NULL, NULL, NULL),
  ('swap_out', 0, 'committed', 1, 2, now(), NULL), ('swap_in', 0, 'committed', 1, NULL, now(), NULL)
) AS crossing (direction, fee, state, tx_id, return_tx_id, decided_at, confirmed_at);
INSERT INTO transfers_pair (peer) VALUES ('spiffe://other.example/registry/other');
INSERT INTO transfers_received (peer, transfer_id, frame, sender_did, receiver_did, amount, currency, state, net, fee, decision,
  next_at, currency_received, min_amount_out)
SELECT 'spiffe://other.example/registry/other', gen_random_uuid(), 'other.example', 'did:a', 'did:b', 5, 'AVT', state, net, fee,
  decision, next_at, currency_received, min_amount_out FROM (VALUES
  ('prepared', 4, 1, NULL, now(), NULL, NULL), ('committed', 4, 1, 'signed', now(), NULL, NULL),
  ('refused', 0, 0, NULL, NULL, NULL, NULL), ('committed', 7, 0, 'signed', now(), 'BVT', 7)
) AS received (state, net, fee, decision, next_at, currency_received, min_amount_out);
"""

MIGRATE = """
import asyncio, sys
from hansa.foundation.plumbing.storage.migrate import migrate
print(*asyncio.run(migrate(sys.argv[1])).migrations)
"""


@pytest.fixture
async def former(postgres: str, tmp_path: Path) -> AsyncIterator[str]:
    """A registry at the last revision of the former migrations; the role owns its database and no more."""
    async with own_database(postgres) as dsn:
        await restore_dump(dsn, tmp_path / "former")
        assert await present_schema(dsn) == FORMER_CHAIN_END
        yield dsn


@pytest.fixture
async def fresh(postgres: str) -> AsyncIterator[str]:
    async with own_database(postgres) as dsn:
        yield dsn


def schema_of(dsn: str) -> str:
    """The schema as pg_dump writes it, but the partitions of months: they depend on the day."""
    command = [
        installed() / "bin" / "pg_dump",
        "--schema-only",
        "--no-owner",
        "--no-privileges",
        "--no-comments",
    ]
    without = ["--exclude-table=journal_event_2*", "--restrict-key=none", dsn]
    return subprocess.run([*command, *without], capture_output=True, text=True, check=True).stdout


async def rows_of(dsn: str) -> dict[str, list[str]]:
    """The rows of each table as JSON."""
    connection = await asyncpg.connect(dsn)
    try:
        tables = await connection.fetch(
            "SELECT relname::text AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'"
            " AND relname <> 'alembic_version' ORDER BY 1"
        )
        return {
            table["name"]: [row[0] for row in await connection.fetch(_ROWS.format(table["name"]))]
            for table in tables
        }
    finally:
        await connection.close()


_ROWS = "SELECT to_json(t)::text FROM {} t ORDER BY 1"


async def unvalidated(dsn: str) -> list[str]:
    """The tables with a constraint that did not check the rows before it."""
    connection = await asyncpg.connect(dsn)
    try:
        found = await connection.fetch(
            "SELECT DISTINCT conrelid::regclass::text AS name FROM pg_constraint WHERE NOT convalidated AND coninhcount = 0"
        )
        return [row["name"] for row in found]
    finally:
        await connection.close()


async def execute(dsn: str, statement: str) -> None:
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


async def test_a_database_of_the_former_migrations_gets_the_schema_of_a_fresh_one(former: str, fresh: str):
    # A restored dump nests the conditions of triggers otherwise: the files are applied once more.
    await execute(former, "DELETE FROM plumbing_sql_file")
    assert (await migrate(former)).migrations[0] == BASELINE
    await migrate(fresh)
    assert await present_schema(former) == newest_schema()
    assert schema_of(former).splitlines() == schema_of(fresh).splitlines()


async def test_the_baseline_writes_the_rows_of_the_former_migrations(fresh: str):
    await migrate(fresh, BASELINE)
    written = [
        {"table": table}
        | {name: value for name, value in json.loads(row).items() if not name.endswith("_at")}
        for table, rows in (await rows_of(fresh)).items()
        for row in rows
        if table != "plumbing_sql_file"
    ]
    assert written == [json.loads(line) for line in SEEDED.read_text().splitlines()]


async def test_a_stamp_changes_no_row_and_is_made_once(former: str):
    await execute(former, OF_ANOTHER_REGISTRY)
    before = await rows_of(former)
    partitions = {"journal_event": "journal_event_2026_11"}
    assert [name for name in await unvalidated(former) if not before[partitions.get(name, name)]] == []
    assert (await migrate(former, BASELINE)).migrations == (BASELINE,)
    assert await unvalidated(former) == []
    assert await rows_of(former) | {"plumbing_sql_file": []} == before | {"plumbing_sql_file": []}
    await migrate(former)
    assert await migrate(former) == Migrated()


async def test_an_older_database_is_refused_in_a_sentence_that_names_the_commit_and_nothing_changes(
    former: str,
):
    await execute(former, "UPDATE alembic_version SET version_num = '0257'")
    before = schema_of(former), await rows_of(former)
    with pytest.raises(
        Unavailable,
        match=rf"is 0257, which is older than {FORMER_CHAIN_END}: .* commit {LAST_COMMIT_OF_FORMER_CHAIN}",
    ) as refused:
        await migrate(former)
    assert re.search(r"\n|\. ", refused.value.detail) is None
    assert await present_schema(former) == "0257"
    assert (schema_of(former), await rows_of(former)) == before


async def test_a_stamp_that_fails_leaves_the_database_as_it_was(former: str):
    sequence = next(iter(renamed_sequences().values()))
    await execute(former, f"CREATE SEQUENCE {sequence}")
    before = schema_of(former)
    with pytest.raises(Exception, match=f'"{sequence}" already exists'):
        await migrate(former)
    assert await present_schema(former) == FORMER_CHAIN_END
    assert schema_of(former) == before


async def test_of_two_processes_that_migrate_at_once_one_stamps(former: str):
    processes = [
        await asyncio.create_subprocess_exec(sys.executable, "-c", MIGRATE, former, stdout=subprocess.PIPE)
        for _ in range(2)
    ]
    outputs = [(await process.communicate())[0].decode().split() for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    assert sorted(len(output) > 0 for output in outputs) == [False, True]
    assert await migrate(former) == Migrated()
