"""The lowest supported PostgreSQL runs everything; an older one is refused at start."""

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from hansa.doors.assembly import ASSEMBLY
from hansa.doors.database_backup import back_up, read_backup, restore
from hansa.doors.serving.serve import in_the_background
from hansa.foundation.plumbing.jobs import JobKind, LeasedKind
from hansa.foundation.plumbing.settings import Settings, read_settings
from hansa.rooms import auditor, federation
from hansa.rooms.catalogue.search import SEARCHER
from tests.operation import lowest_postgresql
from tests.operation.own_database import own_database
from tests.operation.plain_postgresql import CARELESS, plain_postgresql, until_it_answers
from tests.operation.registry_process import run, until
from tests.registry import DatabaseFarm, TestRegistry, open_registry
from tests.running_jobs import working
from tests.upgrade.history import SETTINGS, read_balances
from tests.upgrade.restore import read_expected, restore_dump

PASSPHRASE = "Quiet-Harbour-41-Lantern"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The DSN of a server of that version."""
    with plain_postgresql() as postgresql, postgresql.running(postgresql.make("cluster"), *CARELESS) as dsn:
        yield dsn


@pytest.fixture
async def registry(server: str, tmp_path: Path) -> AsyncIterator[TestRegistry]:
    """A registry on a freshly migrated database of that server."""
    await until_it_answers(server)
    farm = DatabaseFarm(server)
    await farm.prepare()
    async with open_registry(await farm.fresh(), tmp_path) as registry:
        yield registry
    await farm.clear()


def is_enabled(kind: JobKind, settings: Settings) -> bool:
    return not isinstance(kind, LeasedKind) or kind.is_enabled(settings)


async def test_every_scheduled_job_succeeds_there(registry: TestRegistry):
    await (await registry.agent()).transfer(await registry.agent(), "1")
    done: set[str] = set()

    def noted(kind: JobKind) -> JobKind:
        async def work(*given: object) -> None:
            await kind.work(*given)
            done.add(kind.name)

        # Work that is carried out only where something was found is carried out here in any case.
        return replace(kind, work=work, every_seconds=0.01, has_work=None)

    # Those of an operator registry wait for its frame.
    kinds = [
        noted(kind) for kind in ASSEMBLY.jobs if kind.every_seconds and is_enabled(kind, registry.settings)
    ]
    async with working(registry.runtime, *kinds):
        await until(lambda: registry.runtime.jobs.failing() or len(done) == len(kinds))
        assert registry.runtime.jobs.failing() == []


async def test_every_round_succeeds_there(registry: TestRegistry):
    await registry.agent()
    for turn in ASSEMBLY.rounds:
        await turn.work(registry.runtime)


async def test_every_reactor_reacts_there(registry: TestRegistry):
    administrator = await registry.administrator("admin_platform", "admin_enforcement")
    agent = await registry.agent()
    body = {"agent_dids": [agent.did], "reason": "For a test."}
    async with in_the_background(registry.runtime):
        answer = await registry.post("/admin/agents/bulk/suspend", json=body, headers=administrator.headers)
        assert answer.status_code == 200, answer.text
        async with asyncio.timeout(60):
            while any(one["events_waiting"] for one in await reactors(registry, administrator.headers)):
                pass
        assert registry.runtime.jobs.failing() == []
    assert await registry.database.query(lambda tx: federation.is_blocklisted(tx, agent.did))
    found = await reactors(registry, administrator.headers)
    assert [one["name"] for one in found] == [one.name for one in ASSEMBLY.reactors]
    assert [(one["failures"], one["set_aside_count"]) for one in found] == [(0, 0)] * len(found)


async def reactors(registry: TestRegistry, headers: dict[str, str]) -> list[dict[str, object]]:
    answer = await registry.get("/admin/reactors", headers=headers)
    assert answer.status_code == 200, answer.text
    return answer.json()["items"]


async def test_transfers_are_made_and_audited_there(registry: TestRegistry):
    payer, payee = await registry.agent(), await registry.agent()
    before = await payee.balance()
    assert (await payer.transfer(payee, "10", key="once")).status_code == 200
    assert (await payer.transfer(payee, "10", key="once")).status_code == 200
    assert float(await payee.balance()) == float(before) + 10
    assert (await registry.supply())["status"] == "OK"


async def test_cards_are_found_there(registry: TestRegistry):
    await registry.agent(name="Lingua")
    async with SEARCHER.of(registry.runtime).following():
        await registry.indexed()
        answer = await registry.get("/agent-cards/", params={"search": "Lingua"})
    assert answer.status_code == 200, answer.text
    assert [card["name"] for card in answer.json()["items"]] == ["Lingua"]


async def test_a_backup_of_a_newer_server_is_restored_there_by_an_ordinary_role_and_served(
    server: str, database_farm: DatabaseFarm, tmp_path: Path
):
    file = tmp_path / "registry.hansa"
    async with open_registry(await database_farm.fresh(), tmp_path / "data") as registry:
        payer, payee = await registry.agent(), await registry.agent()
        assert (await payer.transfer(payee, "10")).status_code == 200
        balances = [await payer.balance(), await payee.balance()]
        await back_up(registry.settings, file, PASSPHRASE)
    await until_it_answers(server)
    async with own_database(server) as dsn:
        settings = read_settings(database_url=dsn, data_dir=tmp_path / "copy")
        await restore(settings, read_backup(file), PASSPHRASE)
        async with open_registry(dsn, tmp_path / "copy") as copy:
            agents = [dataclasses.replace(agent, registry=copy) for agent in (payer, payee)]
            assert [await agent.balance() for agent in agents] == balances
            assert (await agents[0].transfer(agents[1], "1")).status_code == 200
            verdict = await copy.database.transaction(auditor.audit_from_zero, one_snapshot=True)
    assert (verdict.status, verdict.supply.delta) == ("OK", 0)


@asynccontextmanager
async def an_older_server() -> AsyncIterator[int]:
    """The port of something that answers as PostgreSQL 14.9 does to a client that connects."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        size = int.from_bytes(await reader.readexactly(4), "big")
        if int.from_bytes((await reader.readexactly(size - 4))[:4], "big") == 80877103:
            writer.write(b"N")
            size = int.from_bytes(await reader.readexactly(4), "big")
            await reader.readexactly(size - 4)
        writer.write(b"R\0\0\0\x08\0\0\0\0")
        for stated in (
            b"server_version\x0014.9 (Debian)\0",
            b"in_hot_standby\0off\0",
            b"default_transaction_read_only\0off\0",
        ):
            writer.write(b"S" + (len(stated) + 4).to_bytes(4, "big") + stated)
        ready = b"Z\0\0\0\x05I"
        writer.write(ready)
        # Every statement finds no rows, until the client says goodbye.
        while await reader.readexactly(1) != b"X":
            await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big") - 4)
            writer.write(b"C\0\0\0\x0dSELECT 0\0" + ready)
        writer.close()

    listening = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with listening:
        yield listening.sockets[0].getsockname()[1]


async def test_an_older_server_is_refused_at_start_in_one_line_with_both_versions(tmp_path: Path):
    async with an_older_server() as port:
        url = f"postgresql://hansa:secret@127.0.0.1:{port}/hansa"
        ended = await run("serve", "--port=0", data_dir=tmp_path / "data", DATABASE_URL=url)
    assert (ended.code, ended.output) == (1, "")
    assert ended.complaints == [
        f"hansa: The database at 127.0.0.1:{port}/hansa is PostgreSQL 14.9; PostgreSQL 15 or later is required."
    ]


def test_programs_that_cannot_be_had_are_asked_for_in_one_sentence(tmp_path: Path):
    machine = {"PATH": str(tmp_path), "HOME": str(tmp_path)}
    with pytest.raises(lowest_postgresql.NoServer, match="install it, or set POSTGRESQL_15"):
        lowest_postgresql.get(machine, tmp_path)


def test_programs_of_another_version_are_not_taken_for_it(tmp_path: Path):
    (tmp_path / "postgres").write_text("#!/bin/sh\necho postgres 14.9\n")
    (tmp_path / "postgres").chmod(0o755)
    with pytest.raises(lowest_postgresql.NoServer, match="POSTGRESQL_15="):
        lowest_postgresql.get({"POSTGRESQL_15": str(tmp_path)}, tmp_path)


async def test_a_dumped_registry_is_upgraded_there(server: str, tmp_path: Path):
    await until_it_answers(server)
    async with own_database(server) as dsn:
        await restore_dump(dsn, tmp_path)
        async with open_registry(dsn, tmp_path, **SETTINGS) as registry:
            assert await read_balances(registry) == read_expected()["balances"]
            verdict = await registry.database.transaction(auditor.audit_from_zero, one_snapshot=True)
            assert (verdict.status, verdict.supply.delta) == ("OK", 0)
