"""PostgreSQL's own dump, restored into another cluster, is a sound registry: no false alarm, and a true one is raised."""

import asyncio
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import asyncpg
import pytest

from hansa.foundation.plumbing.storage.embedded import EmbeddedPostgres
from hansa.foundation.plumbing.storage.embedded.binaries import installed
from hansa.rooms import auditor
from tests.registry import open_registry

PATH = "/admin/projection-snapshot"
# The new cluster has run fewer transactions than the dumped events remember.
TRANSACTIONS_AHEAD = 20_000
RUN_TRANSACTIONS = f"""
CREATE PROCEDURE run_transactions() LANGUAGE plpgsql AS $$
BEGIN
  FOR i IN 1 .. {TRANSACTIONS_AHEAD} LOOP
    PERFORM pg_current_xact_id();
    COMMIT;
  END LOOP;
END $$
"""


@pytest.fixture
async def clusters(tmp_path: Path) -> AsyncIterator[tuple[str, str]]:
    """Two servers; the first has run many transactions."""
    servers = [EmbeddedPostgres(tmp_path / name) for name in ("old", "new")]
    old, new = [await server.start() for server in servers]
    connection = await asyncpg.connect(old)
    await connection.execute("SET synchronous_commit = off")
    await connection.execute(RUN_TRANSACTIONS)
    await connection.execute("CALL run_transactions()")
    await connection.execute("DROP PROCEDURE run_transactions")
    await connection.close()
    yield old, new
    for server in servers:
        await server.stop()


async def copy_database(source: str, target: str, file: Path) -> None:
    for command in (
        ("pg_dump", "--format=custom", f"--file={file}", source),
        ("pg_restore", "--exit-on-error", "--no-owner", f"--dbname={target}", str(file)),
    ):
        process = await asyncio.create_subprocess_exec(
            installed() / "bin" / command[0], *command[1:], stderr=PIPE
        )
        _, failure = await process.communicate()
        assert process.returncode == 0, failure.decode()


async def test_projections_audit_and_readers_agree_after_a_dump_and_restore_and_a_true_difference_is_found(
    clusters: tuple[str, str], tmp_path: Path
):
    old, new = clusters
    data = tmp_path / "data"
    async with open_registry(old, data, enable_projection_snapshots=True) as registry:
        administrator = await registry.administrator("admin_platform")
        one, other = await registry.agent(), await registry.agent()
        assert (await one.transfer(other, "3")).status_code == 200
        assert (await registry.post(PATH, headers=administrator.headers)).status_code == 200
        assert (await one.transfer(other, "2")).status_code == 200
        page = (await registry.get("/events/?limit=500", headers=registry.internal)).json()
    await copy_database(old, new, tmp_path / "registry.dump")
    async with open_registry(new, data, enable_projection_snapshots=True) as registry:
        one, other = replace(one, registry=registry), replace(other, registry=registry)
        for _ in range(2):
            assert (await one.transfer(other, "1")).status_code == 200
            answer = await registry.post(PATH, headers=administrator.headers)
            assert answer.status_code == 200, answer.text
        verdict = await registry.database.transaction(auditor.audit_from_zero, one_snapshot=True)
        assert (verdict.status, verdict.supply.delta) == ("OK", 0)
        path = f"/events/?limit=500&event_type=TokensTransferred&next={page['position']}"
        assert len((await registry.get(path, headers=registry.internal)).json()["items"]) == 2
        await registry.database.transaction(
            lambda tx: tx.execute("UPDATE ledger_account SET liquid = liquid + 1 WHERE did = $1", one.did)
        )
        answer = await registry.post(PATH, headers=administrator.headers)
        assert answer.json()["error"]["code"] == "PROJECTION_DIVERGES"
        assert answer.json()["error"]["context"]["account"] == one.did
