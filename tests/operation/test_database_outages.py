"""A service whose database is killed, hangs or does not write: it lives, keeps its log short, and serves again."""

import asyncio
import json
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import httpx2
import pytest

from hansa.foundation.plumbing.storage.embedded import EmbeddedPostgres
from tests.data_directories import copy_data_directory
from tests.operation.conftest import Launch, end_postgres
from tests.operation.registry_process import (
    RegistryProcess,
    children_of,
    postgres_pid,
    readiness,
    until_async,
)

CONTAINERFILE = Path(__file__).parents[2] / "deploy" / "Containerfile"
CALLERS = 20
PATHS = ("/api/v1/public/supply-invariant", "/api/v1/agent-cards/")


class Server:
    """A server of PostgreSQL beside the registry."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.postgres = EmbeddedPostgres(directory)
        self.dsn = ""

    async def start(self) -> None:
        self.dsn = await self.postgres.start()

    async def stop(self) -> None:
        await self.postgres.stop()

    async def kill(self) -> None:
        """End every process at once; the contents of their memory are lost."""
        for process in self._processes():
            os.kill(process, signal.SIGKILL)
        await self.postgres.stop()

    async def hang(self) -> None:
        for process in self._processes():
            os.kill(process, signal.SIGSTOP)

    async def go_on(self) -> None:
        for process in self._processes():
            os.kill(process, signal.SIGCONT)

    async def refuse_writes(self) -> None:
        await self._set("on")

    async def take_writes(self) -> None:
        await self._set("off")

    async def _set(self, read_only: str) -> None:
        connection = await asyncpg.connect(self.dsn)
        await connection.execute(f"ALTER SYSTEM SET default_transaction_read_only = {read_only}")
        await connection.execute("SELECT pg_reload_conf()")
        await connection.close()

    def _processes(self) -> list[int]:
        postmaster = postgres_pid(self.directory)
        assert postmaster is not None
        return [postmaster, *children_of(postmaster)]


@pytest.fixture
async def server(tmp_path: Path, migrated_data: Path) -> AsyncIterator[Server]:
    copy_data_directory(migrated_data, tmp_path / "server")
    server = Server(tmp_path / "server")
    await server.start()
    yield server
    await server.stop()
    await end_postgres(server.directory)


@pytest.fixture
async def registry(operated: Launch, server: Server) -> RegistryProcess:
    """A registry on that server."""
    registry = operated(DATABASE_URL=server.dsn, LOG_FORMAT="json")
    await registry.start()
    return registry


async def called_at_once(registry: RegistryProcess) -> set[int]:
    """Statuses of many calls that need the database."""
    async with httpx2.AsyncClient(base_url=registry.url, trust_env=False, timeout=120) as http:
        answers = await asyncio.gather(*(http.get(path) for path in PATHS * CALLERS))
    return {answer.status_code for answer in answers}


OUTAGES: dict[str, tuple[Callable[[Server], Awaitable[None]], Callable[[Server], Awaitable[None]]]] = {
    "stopped": (Server.stop, Server.start),
    "killed": (Server.kill, Server.start),
    "hung": (Server.hang, Server.go_on),
    "read-only": (Server.refuse_writes, Server.take_writes),
}


async def test_outages_of_the_database_leave_lines_in_the_log_and_no_traceback(
    registry: RegistryProcess, server: Server
):
    for begin, end in OUTAGES.values():
        await called_at_once(registry)
        calls = [asyncio.create_task(called_at_once(registry))]
        await begin(server)
        await until_async(lambda: is_ready(registry, 503))
        calls.append(asyncio.create_task(called_at_once(registry)))
        await end(server)
        assert set().union(*await asyncio.gather(*calls)) <= {200, 503}
        await until_async(lambda: is_ready(registry, 200))
        assert (await called_at_once(registry)) == {200}
    ended = await registry.stop()
    assert ended.code == 0
    lines = [json.loads(line) for line in ended.complaints]
    assert [line for line in lines if "exception" in line or "Traceback" in str(line)] == []


async def is_ready(registry: RegistryProcess, status: int) -> bool:
    return await readiness(registry.url) == status


async def test_the_health_check_of_the_image_passes_while_the_database_is_away_and_fails_without_a_service(
    registry: RegistryProcess, server: Server
):
    assert await health_check(registry) == 0
    await server.stop()
    await until_async(lambda: is_ready(registry, 503))
    assert await health_check(registry) == 0
    await registry.kill()
    assert await health_check(registry) == 1


async def health_check(registry: RegistryProcess) -> int:
    """The code of the command that the image states, as its container runs it."""
    (command,) = re.findall(r"^HEALTHCHECK .*\\\n  CMD (\[.*\])$", CONTAINERFILE.read_text(), re.MULTILINE)
    check = await asyncio.create_subprocess_exec(
        *(sys.executable, *json.loads(command)[1:]),
        env={"PORT": str(urlsplit(registry.url).port)},
        stderr=asyncio.subprocess.DEVNULL,
    )
    return await check.wait()
