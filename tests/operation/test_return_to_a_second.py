"""The guide "Backups", walked: a registry on PostgreSQL of the operator's own returns to a chosen second."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

import asyncpg
import pytest

from hansa.foundation.plumbing.jobs.mail_queue import OutgoingMail, enqueue_mail
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.embedded import EmbeddedPostgres
from hansa.rooms import auditor
from tests.operation.plain_postgresql import PlainPostgresql, plain_postgresql, until_it_answers
from tests.operation.registry_process import Ended, run
from tests.registry import TestAgent, TestRegistry, open_registry

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "backups.md"
SECRET = "Quiet-Harbour-41-Lantern"


def settings_in_the_guide(archive: Path, **changed: str) -> list[list[str]]:
    """The settings of each block of the guide, with these values instead."""
    blocks = re.findall(r"^```ini\n(.*?)^```$", GUIDE.read_text(), re.MULTILINE | re.DOTALL)
    found = []
    for block in blocks:
        pairs = dict(line.replace("/archive", str(archive)).split(" = ", 1) for line in block.splitlines())
        found.append([f"{name}={changed.get(name, value.strip(chr(39)))}" for name, value in pairs.items()])
    return found


async def value_of(dsn: str, statement: str, *arguments: object) -> Any:
    connection = await asyncpg.connect(dsn)
    try:
        return await connection.fetchval(statement, *arguments)
    finally:
        await connection.close()


async def until_true(dsn: str, statement: str, *arguments: object) -> None:
    """Ask until the answer is true."""
    async with asyncio.timeout(60):
        while not await value_of(dsn, statement, *arguments):  # noqa: ASYNC110
            await asyncio.sleep(0.05)


async def archive_all(dsn: str) -> None:
    """Have the log archived up to now."""
    file = await value_of(dsn, "SELECT pg_walfile_name(pg_switch_wal())")
    await until_true(dsn, "SELECT coalesce(last_archived_wal >= $1, false) FROM pg_stat_archiver", file)


class Recovered(NamedTuple):
    """A database as of a second between two transfers, on a server of its own, and readings of the registry before."""

    dsn: str
    data: Path
    agents: list[TestAgent]
    balances: list[str]
    position: str
    """Position of the newest event, after the chosen second."""
    backup: Path


@pytest.fixture(scope="module")
def postgresql() -> Iterator[PlainPostgresql]:
    with plain_postgresql() as made:
        yield made


@pytest.fixture(scope="module")
async def recovered(
    postgresql: PlainPostgresql, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Recovered]:
    folder = tmp_path_factory.mktemp("return")
    data, file = folder / "data", folder / "recovered.hansa"
    archive, base = postgresql.folder / "archive", postgresql.folder / "base"
    postgresql.make_directory(archive)
    archiving, _ = settings_in_the_guide(archive)
    with postgresql.running(postgresql.make("cluster"), *archiving) as dsn:
        await until_it_answers(dsn)
        async with open_registry(dsn, data) as registry:
            payer, payee = await registry.agent(), await registry.agent()
            postgresql.run("pg_basebackup", f"--pgdata={base}", "--checkpoint=fast", f"--dbname={dsn}")
            assert (await payer.transfer(payee, "10")).status_code == 200
            mail = OutgoingMail(
                "owner@example.org", "Waits", "A mail that waits.", good_for=timedelta(days=1)
            )
            await registry.database.transaction(lambda tx: enqueue_mail(tx, registry.runtime.seal, mail))
            balances = [await payer.balance(), await payee.balance()]
            second = await value_of(dsn, "SELECT clock_timestamp()")
            assert (await payer.transfer(payee, "7")).status_code == 200
            page = (await registry.get("/events/?limit=500", headers=registry.internal)).json()
        await archive_all(dsn)
    _, recovering = settings_in_the_guide(archive, recovery_target_time=second.isoformat())
    postgresql.make_file(base / "recovery.signal")
    with postgresql.running(base, *recovering) as dsn:
        await until_it_answers(dsn)
        await until_true(dsn, "SELECT NOT pg_is_in_recovery()")
        saved = await run(
            "db", "backup", str(file), data_dir=data, DATABASE_URL=dsn, HANSA_KEYS_PASSPHRASE=SECRET
        )
        assert saved.code == 0, saved
        yield Recovered(dsn, data, [payer, payee], balances, page["position"], file)


@asynccontextmanager
async def restored(data: Path) -> AsyncIterator[TestRegistry]:
    server = EmbeddedPostgres(data)
    try:
        async with open_registry(await server.start(), data) as registry:
            yield registry
    finally:
        await server.stop()


async def prove_returned(copy: TestRegistry, before: Recovered) -> None:
    """The copy has the balances of the chosen second and sends nothing; a reader from after that second misses nothing."""
    agents = [replace(agent, registry=copy) for agent in before.agents]
    assert [await agent.balance() for agent in agents] == before.balances
    assert await copy.database.query(waiting_mails) == 0
    verdict = await copy.database.transaction(auditor.audit_from_zero, one_snapshot=True)
    assert (verdict.status, verdict.supply.delta) == ("OK", 0)
    assert (await agents[0].transfer(agents[1], "1")).status_code == 200
    path = f"/events/?limit=500&event_type=TokensTransferred&next={before.position}"
    news = (await copy.get(path, headers=copy.internal)).json()["items"]
    assert [event["data"]["amount"] for event in news] == ["1"]


async def waiting_mails(tx: Tx) -> int:
    return await tx.fetchval("SELECT count(*) FROM plumbing_letter")


async def test_a_registry_returns_to_a_chosen_second_by_a_backup_of_the_copy(
    recovered: Recovered, tmp_path: Path
):
    ended = await run(
        *("db", "restore", str(recovered.backup)),
        data_dir=tmp_path / "restored",
        HANSA_KEYS_PASSPHRASE=SECRET,
    )
    assert ended.code == 0, ended
    async with restored(tmp_path / "restored") as copy:
        await prove_returned(copy, recovered)


async def test_a_registry_returns_to_a_chosen_second_in_its_copy_unless_it_is_served(recovered: Recovered):
    async def rebase() -> Ended:
        return await run("db", "rebase", "--json", data_dir=recovered.data, DATABASE_URL=recovered.dsn)

    async with open_registry(recovered.dsn, recovered.data) as served:
        refused = await rebase()
        assert (refused.code, refused.output, len(refused.complaints)) == (1, "", 1), refused
        assert "stop every process" in refused.complaint
        assert await served.database.query(waiting_mails) == 1
    rebased = await rebase()
    assert (rebased.code, rebased.complaint) == (0, ""), rebased
    shown = json.loads(rebased.output)
    assert (shown["registry_name"], shown["mails_withheld"]) == ("hansa", 1)
    async with open_registry(recovered.dsn, recovered.data) as copy:
        await prove_returned(copy, recovered)
        acts = await copy.database.query(lambda tx: tx.fetch("SELECT act FROM plumbing_admin_act"))
        assert [act["act"] for act in acts] == ["registry.rebase"]
