"""The registry as an operator runs it: `hansa serve` in a process of its own, on the database of a registry under test."""

import asyncio
import os
import shutil
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp

from tests.operation.registry_process import environment, launch
from tests.registry import TestRegistry

# Bounds on what hangs, on a machine with much else to do.
START_SECONDS = 120
STOP_SECONDS = 60
_IN_USE: set[Path] = set()
_ONE_MACHINE = shutil.ignore_patterns("serve-*", "serving", "lock", "search", "postgres*")


@dataclass(frozen=True)
class Served:
    """Running server; `log` is the file with its standard error."""

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
    if data_dir in _IN_USE:
        # A second machine of the same registry: its own directory with the same keys.
        data_dir = Path(mkdtemp(prefix="machine-", dir=data_dir.parent))
        shutil.copytree(registry.settings.data_dir, data_dir, dirs_exist_ok=True, ignore=_ONE_MACHINE)
    log = data_dir / f"serve-{len(list(data_dir.glob('serve-*')))}.log"
    assert registry.settings.database_url
    served_settings = {
        "DATABASE_URL": registry.settings.database_url,
        "PUBLIC_BASE_URL": registry.settings.base_url,
        "TRUSTED_PROXIES": "127.0.0.1",
        "RATE_LIMIT_READS": "off",
        **settings,
    }
    _IN_USE.add(data_dir)
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
            _IN_USE.discard(data_dir)
