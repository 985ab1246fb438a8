"""Bring the dump of a registry of an earlier state of the code into an empty database, with its keys and its times."""

import gzip
import io
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import asyncpg

DIRECTORY = Path(__file__).parent
DUMP, KEYS, EXPECTED = DIRECTORY / "registry.sql.gz", DIRECTORY / "keys", DIRECTORY / "expected.json"

# Lines of a newer pg_dump that PostgreSQL 15 does not know, or that only psql does.
UNKNOWN_TO_OLDER_SERVERS = ("SET transaction_timeout", "\\restrict", "\\unrestrict")

# Columns that decide when something expires: they are moved by the age of the dump, so that nothing has expired.
LASTING = {
    "people_session": ("opened_at", "continued_at"),
    "people_refresh_token": ("expires_at",),
    "people_forgotten_password": ("asked_at",),
    "people_deletion": ("requested_at", "effective_at", "next_try_at"),
    "notifications_webhook": ("former_secret_until",),
    "notifications_webhook_delivery": ("next_attempt_at", "created_at", "last_attempt_at"),
    "plumbing_idempotency": ("created_at",),
    "plumbing_job": ("due_at", "due_again_at", "lease_until", "created_at"),
    "plumbing_letter": ("written_at", "next_try_at", "good_until"),
    "agents_spend_approval": ("created_at", "expires_at", "decided_at"),
    "agents_capability": ("created_at", "expires_at"),
    "commerce_payment_token": ("created_at", "expires_at"),
    "commerce_dispute": ("opened_at", "evidence_until", "rule_by"),
    "ledger_hold": ("opened_at", "expires_at"),
    "ledger_stake_position": ("staked_at", "unlocks_at", "rewarded_until"),
}


def read_expected() -> dict[str, Any]:
    """The credentials, balances, pending jobs and answers of the dumped registry."""
    return json.loads(EXPECTED.read_text())


async def restore_dump(dsn: str, data_dir: Path) -> None:
    """Fill an empty database and a new data directory. The role needs no more than CREATE on its database."""
    connection = await asyncpg.connect(dsn)
    try:
        for statements, rows in parts_of(gzip.decompress(DUMP.read_bytes()).decode()):
            # asyncpg takes no text without a statement in it.
            if any(line and not line.startswith("--") for line in statements.splitlines()):
                await connection.execute(statements)
            if rows is not None:
                await _copy(connection, *rows)
        # The dump leaves the session without a search path.
        await connection.execute("RESET ALL")
        await _move_times(connection, datetime.fromisoformat(read_expected()["dumped_at"]))
    finally:
        await connection.close()
    _install_keys(data_dir)


def parts_of(dump: str) -> Iterator[tuple[str, tuple[str, str] | None]]:
    """Statements in their order; where rows follow, the COPY that takes them and the rows as text."""
    statements: list[str] = []
    lines = iter(dump.splitlines(keepends=True))
    for line in lines:
        if line.startswith(UNKNOWN_TO_OLDER_SERVERS):
            continue
        if not (line.startswith("COPY ") and line.endswith(" FROM stdin;\n")):
            statements.append(line)
            continue
        rows = "".join(iter(lambda: next(lines), "\\.\n"))
        yield "".join(statements), (line, rows)
        statements = []
    yield "".join(statements), None


async def _copy(connection: "asyncpg.Connection[asyncpg.Record]", copy: str, rows: str) -> None:
    target = copy.removeprefix("COPY ").removesuffix(" FROM stdin;\n")
    table, _, columns = target.partition(" ")
    schema, _, name = table.partition(".")
    await connection.copy_to_table(
        name,
        schema_name=schema,
        columns=[column.strip(' "()') for column in columns.split(",")],
        source=io.BytesIO(rows.encode()),
        format="text",
    )


async def _move_times(connection: "asyncpg.Connection[asyncpg.Record]", dumped_at: datetime) -> None:
    age = datetime.now(UTC) - dumped_at
    for table, columns in LASTING.items():
        moved = ", ".join(f"{column} = {column} + $1" for column in columns)
        await connection.execute(f"UPDATE {table} SET {moved}", age)


def _install_keys(data_dir: Path) -> None:
    (data_dir / "keys").mkdir(parents=True, mode=0o700)
    for file in KEYS.iterdir():
        installed = data_dir / "keys" / file.name
        installed.write_bytes(file.read_bytes())
        installed.chmod(0o600)
