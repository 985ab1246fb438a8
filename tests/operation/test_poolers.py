"""A PgBouncer between the registry and its database: transactions are refused, sessions are served with a warning."""

import asyncio
import json
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import asyncpg
import pytest

from hansa.foundation.plumbing.storage.connection import SERVER_SETTINGS
from hansa.foundation.plumbing.storage.migrate import migrate
from tests import debian_packages
from tests.operation import nginx
from tests.operation.conftest import Launch
from tests.operation.plain_postgresql import CARELESS, PlainPostgresql, plain_postgresql, until_it_answers
from tests.operation.registry_process import free_port, run

DROPPED = ", ".join(SERVER_SETTINGS.keys() - {"application_name", "timezone"})


class Server:
    """A server of PostgreSQL, whose database has the schema."""

    def __init__(self, postgresql: PlainPostgresql, dsn: str) -> None:
        self.dsn = dsn
        self._postgresql = postgresql

    @asynccontextmanager
    async def pooled(self, **settings: str) -> AsyncIterator[str]:
        """Run PgBouncer meanwhile; yields the DSN of the pooled database."""
        packages, port = debian_packages.unpack("pgbouncer"), free_port()
        stated = {
            "listen_addr": "127.0.0.1",
            "listen_port": str(port),
            "auth_type": "any",
            "unix_socket_dir": "",
            **settings,
        }
        file = self._postgresql.folder / f"pgbouncer-{port}.ini"
        place = f"host={self._postgresql.folder} port=5432 dbname=postgres user=hansa"
        lines = [f"{name} = {value}" for name, value in stated.items()]
        file.write_text("\n".join(["[databases]", f"pooled = {place}", "[pgbouncer]", *lines, ""]))
        file.chmod(0o644)
        command = self._postgresql.command(packages.program("pgbouncer"), str(file))
        process = await asyncio.create_subprocess_exec(
            *command, env=packages.environment, stdin=DEVNULL, stdout=DEVNULL, stderr=PIPE
        )
        try:
            await nginx.until_it_listens(process, port)
            yield f"postgresql://hansa@127.0.0.1:{port}/pooled"
        finally:
            process.terminate()
            await process.communicate()


@pytest.fixture(scope="module")
async def server() -> AsyncIterator[Server]:
    with plain_postgresql() as postgresql, postgresql.running(postgresql.make("pooled"), *CARELESS) as dsn:
        await until_it_answers(dsn)
        await migrate(dsn)
        yield Server(postgresql, dsn)


@pytest.mark.parametrize("more", [{}, {"server_round_robin": "1"}], ids=["last session", "next session"])
async def test_a_pooler_of_transactions_is_refused_at_the_start_in_one_line(
    server: Server, tmp_path: Path, more: dict[str, str]
):
    settings = {"pool_mode": "transaction", "ignore_startup_parameters": DROPPED, **more}
    async with server.pooled(**settings) as dsn:
        ended = await run("serve", "--port=0", data_dir=tmp_path / "data", DATABASE_URL=dsn)
    assert (ended.code, ended.output) == (1, "")
    [line] = ended.complaints
    assert "A pooler of transactions answers at 127.0.0.1:" in line
    assert not (tmp_path / "data").exists()


async def test_a_pooler_that_refuses_the_settings_of_connections_is_named_in_one_line(
    server: Server, tmp_path: Path
):
    async with server.pooled(pool_mode="session") as dsn:
        ended = await run("serve", "--port=0", data_dir=tmp_path / "data", DATABASE_URL=dsn)
    assert ended.code == 1
    [line] = ended.complaints
    assert "unsupported startup parameter" in line


async def test_a_pooler_of_sessions_is_served_with_a_warning_until_the_role_has_the_settings(
    server: Server, operated: Launch
):
    settings = {"pool_mode": "session", "ignore_startup_parameters": DROPPED}
    async with server.pooled(**settings) as dsn:
        registry = operated(DATABASE_URL=dsn, LOG_FORMAT="json")
        await registry.start()
        warned = [json.loads(line) for line in registry.log.read_text().splitlines()]
        [warning] = [one for one in warned if one["event"].startswith("a pooler drops the settings")]
        assert "jit is on" in warning["event"]
        assert "statement_timeout is 0" in warning["event"]
        doctor = await run("doctor", "--json", data_dir=registry.data_dir, DATABASE_URL=dsn)
        findings = {one["subject"]: one for one in json.loads(doctor.output)["findings"]}
        assert findings["pooler"]["severity"] == "warning"
        connection = await asyncpg.connect(server.dsn)
        await connection.execute(warning["remedy"])
        await connection.close()
        assert (await registry.stop()).code == 0
    registry.log.write_text("")
    async with server.pooled(**settings) as dsn:
        registry = operated(DATABASE_URL=dsn, LOG_FORMAT="json")
        await registry.start()
        assert "a pooler drops" not in registry.log.read_text()
        assert (await registry.stop()).code == 0
