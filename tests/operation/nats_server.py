"""A real NATS server with JetStream for tests: an installed one, or that of Debian's package."""

import asyncio
from asyncio.subprocess import DEVNULL, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests import debian_packages
from tests.operation.registry_process import free_port

START_SECONDS = 60


class NatsServer:
    """One server, which may be started again on its streams."""

    def __init__(self, directory: Path) -> None:
        self._port = free_port()
        self._options = ["--js", "--sd", str(directory), "-a", "127.0.0.1", "-p", str(self._port)]
        self.url = f"nats://127.0.0.1:{self._port}"
        self._process: Process | None = None

    async def start(self) -> None:
        """Returns once it listens."""
        program = debian_packages.unpack("nats-server").program("nats-server")
        self._process = process = await asyncio.create_subprocess_exec(
            program, *self._options, stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL
        )
        async with asyncio.timeout(START_SECONDS):
            while not await _listens(self._port):
                assert process.returncode is None, "nats-server ended"
                await asyncio.sleep(0.05)

    async def kill(self) -> None:
        """End it without a warning."""
        assert self._process is not None
        self._process.kill()
        await self._process.wait()

    async def restart(self) -> None:
        """Kill it and start it again."""
        await self.kill()
        await self.start()


@asynccontextmanager
async def nats_server(directory: Path) -> AsyncIterator[NatsServer]:
    """A server that stores its streams in `directory`."""
    server = NatsServer(directory)
    await server.start()
    try:
        yield server
    finally:
        await server.kill()


async def _listens(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    return True
