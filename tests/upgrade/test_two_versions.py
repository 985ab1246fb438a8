"""An upgrade without a stop: the previous version and this one serve one database under load, and nothing is lost.

The previous version is the code before the newest migration. It founds the registry; this version migrates it while clients are at work.
"""

import shutil
import signal
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import asyncpg
import httpx2
import pytest

from hansa.foundation.plumbing.storage.embedded import EmbeddedPostgres
from hansa.foundation.plumbing.storage.migrate import newest_schema, present_schema
from tests.operation.history import History, Outcome, read_history
from tests.operation.nothing_lost import find_what_is_wrong, rude_answers
from tests.operation.registry_process import RegistryProcess, free_port, run, until
from tests.operation.round_robin_proxy import RoundRobinProxy
from tests.operation.storm import Storm
from tests.properties.scale import printed_seed
from tests.upgrade.former_code import check_out, former_commit

CLIENTS = 8
PAGES = (
    "/",
    "/catalogue",
    "/docs",
    "/api/v1/agent-cards/",
    "/api/v1/discover?query=agent",
    "/api/v1/public/supply-invariant",
    "/readyz",
)


@dataclass(frozen=True)
class Versions:
    """The registry of the previous version, not yet started, and that of this one, which waits for its keys."""

    old: RegistryProcess
    new: RegistryProcess
    former: str
    database: str
    addresses: list[str]

    async def migrate(self) -> None:
        """Start this version on the database of the previous one, which serves."""
        assert await present_schema(self.database) != newest_schema()
        shutil.copytree(self.old.data_dir / "keys", self.new.data_dir / "keys")
        await self.new.start()
        assert await present_schema(self.database) == newest_schema()


@pytest.fixture
async def versions(tmp_path: Path) -> AsyncIterator[Versions]:
    former = str(check_out(former_commit(), tmp_path / "former"))
    server = EmbeddedPostgres(tmp_path / "server")
    database = await server.start()
    settings = {"DATABASE_URL": database, "GENESIS_SUPPLY": "100000000", "TRUSTED_PROXIES": "127.0.0.1"}
    old = RegistryProcess(tmp_path / "old", as_program=True, PYTHONPATH=former, **settings)
    port = free_port()
    new = RegistryProcess(tmp_path / "new", port=port, as_program=True, **settings)
    try:
        await old.start()
        yield Versions(old, new, former, database, [old.url, f"http://127.0.0.1:{port}"])
    finally:
        await old.kill()
        await new.kill()
        await server.stop()


async def test_the_previous_version_and_this_one_serve_one_database_and_nothing_is_lost(
    versions: Versions, tmp_path: Path
):
    history = History(tmp_path / "history.jsonl")
    async with RoundRobinProxy(versions.addresses) as proxy:
        storm = Storm(proxy.url, history, printed_seed(), clients=CLIENTS, agents=CLIENTS)
        try:
            await storm.gather()
            storm.rage()
            await until_more_is_acknowledged(history)
            await versions.migrate()
            proxy.close_connections()
            await until_more_is_acknowledged(history)
            await serves_pages(versions.old.url)
            await serves_pages(versions.new.url)
            ended = await versions.old.stop(signal.SIGTERM)
            assert ended.code == 0, ended
            assert "Traceback" not in ended.complaint, ended.complaint
            await until_more_is_acknowledged(history)
            await storm.calm()
            await storm.settle([one for one in read_history(history.path) if one.outcome is Outcome.UNKNOWN])
        finally:
            await storm.close()
            history.close()
    ended = await versions.new.stop()
    assert ended.code == 0, ended
    operations = read_history(history.path)
    connection = await asyncpg.connect(versions.database)
    assert await find_what_is_wrong(connection, operations) == []
    await connection.close()
    assert rude_answers(operations) == []
    assert {one.outcome for one in operations} <= {Outcome.ACKNOWLEDGED, Outcome.REFUSED}


async def test_the_demo_of_each_version_is_right_beside_the_other(versions: Versions):
    """Paid calls, contracts, tools for models: the previous version on the schema of this one, and this one beside it."""
    await versions.migrate()
    for registry, code in ((versions.old, {"PYTHONPATH": versions.former}), (versions.new, {})):
        played = await run("demo", "--yes", registry.url, data_dir=registry.data_dir, as_program=True, **code)
        assert played.code == 0, played
        ended = await registry.stop()
        assert ended.code == 0, ended
        assert "Traceback" not in ended.complaint, ended.complaint


async def until_more_is_acknowledged(history: History) -> None:
    """Wait until more is acknowledged than clients had under way."""

    def acknowledged() -> int:
        return sum(one.outcome is Outcome.ACKNOWLEDGED for one in read_history(history.path))

    had = acknowledged()
    await until(lambda: acknowledged() >= had + 4 * CLIENTS)


async def serves_pages(url: str) -> None:
    async with httpx2.AsyncClient(base_url=url, trust_env=False, timeout=60) as http:
        for path in PAGES:
            answer = await http.get(path)
            assert answer.status_code == 200, f"{url}{path}: {answer.status_code} {answer.text}"
