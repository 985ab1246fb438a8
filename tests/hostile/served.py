"""The registry as an operator runs it: `hansa serve` in a process of its own, on the database of a registry under test."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.registry import TestRegistry

START_SECONDS = 30
STOP_SECONDS = 20


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
async def serve(registry: TestRegistry, **settings: str) -> AsyncIterator[Served]:
    """Serve the registry's database: tokens that `registry` issued are good here, and its rows are seen there."""
    log = registry.settings.data_dir / f"serve-{len(list(registry.settings.data_dir.glob('serve-*')))}.log"
    assert registry.settings.database_url
    environment = {
        **os.environ,
        "DATABASE_URL": registry.settings.database_url,
        "HANSA_DATA_DIR": str(registry.settings.data_dir),
        "PUBLIC_BASE_URL": registry.settings.base_url,
        "TRUSTED_PROXIES": "127.0.0.1",
        "RATE_LIMIT_READS": "off",
        **settings,
    }
    with log.open("wb") as errors:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "hansa.doors.operate", "serve", "--port", "0"),
            env=environment,
            stdout=asyncio.subprocess.PIPE,
            stderr=errors,
        )
        assert process.stdout
        try:
            async with asyncio.timeout(START_SECONDS):
                line = (await process.stdout.readline()).decode()
            assert line.startswith("ready "), log.read_text()
            yield Served(line.split()[1], log, process.pid)
        finally:
            if process.returncode is None:
                process.terminate()
            async with asyncio.timeout(STOP_SECONDS):
                await process.wait()
