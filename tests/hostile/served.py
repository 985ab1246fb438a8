"""The registry as an operator runs it: `hansa serve` in a process of its own, on the database of a registry under test."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.operation.registry_process import environment, launch
from tests.registry import TestRegistry

# Bounds on what hangs, on a machine with much else to do.
START_SECONDS = 120
STOP_SECONDS = 60


@dataclass(frozen=True)
class Served:
    """A running server; `log` is what it wrote to standard error."""

    url: str
    log: Path
    pid: int

    @property
    def address(self) -> tuple[str, int]:
        host, _, port = self.url.removeprefix("http://").partition(":")
        return host, int(port)


@asynccontextmanager
async def serve(
    registry: TestRegistry, *, as_program: bool = False, **settings: str
) -> AsyncIterator[Served]:
    """Serve the registry's database: tokens that `registry` issued are good here, and its rows are seen there."""
    data_dir = registry.settings.data_dir
    log = data_dir / f"serve-{len(list(data_dir.glob('serve-*')))}.log"
    assert registry.settings.database_url
    served_settings = {
        "DATABASE_URL": registry.settings.database_url,
        "PUBLIC_BASE_URL": registry.settings.base_url,
        "TRUSTED_PROXIES": "127.0.0.1",
        "RATE_LIMIT_READS": "off",
        **settings,
    }
    with log.open("wb") as errors:
        process = await launch(
            *("serve", "--port", "0"),
            environment=environment(data_dir, **served_settings),
            stderr=errors.fileno(),
            as_program=as_program,
        )
        assert process.stdout
        try:
            async with asyncio.timeout(START_SECONDS):
                line = (await process.stdout.readline()).decode()
            assert line.startswith("ready "), log.read_text()
            yield Served(line.split()[1], log, process.pid)
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGTERM)
            async with asyncio.timeout(STOP_SECONDS):
                await process.wait()
