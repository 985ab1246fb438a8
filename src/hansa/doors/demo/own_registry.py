"""A registry of the demo's own: in a temporary directory, on a free port, deleted afterwards."""

import asyncio
import os
import sys
import tempfile
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from hansa.doors.demo.client import DemoFailed
from hansa.foundation.plumbing.settings import Settings

START_SECONDS = 300


@asynccontextmanager
async def own_registry() -> AsyncIterator[str]:
    """Start it; yields its address. Raises: DemoFailed."""
    with tempfile.TemporaryDirectory(prefix="hansa-demo-") as directory:
        process = await asyncio.create_subprocess_exec(
            *[sys.executable, "-m", "hansa.doors.operate", "serve", "--port=0", f"--data-dir={directory}"],
            stdout=PIPE,
            env=_environment(),
        )
        try:
            yield await _address(process)
        finally:
            if process.returncode is None:
                process.terminate()
            await process.wait()


async def _address(process: Process) -> str:
    assert process.stdout is not None
    try:
        async with asyncio.timeout(START_SECONDS):
            line = (await process.stdout.readline()).decode()
    except TimeoutError:
        raise DemoFailed(f"the registry did not start within {START_SECONDS} seconds") from None
    if not line.startswith("ready "):
        raise DemoFailed("the registry did not start; the reason is printed above")
    return line.removeprefix("ready ").strip()


def _environment() -> dict[str, str]:
    """The variables without settings: those describe another registry, whose ports and database are not the demo's."""
    settings = {name.upper() for name in Settings.model_fields}
    kept = {
        name: value
        for name, value in os.environ.items()
        if name.upper() not in settings and not name.upper().startswith("HANSA_")
    }
    return {**kept, "LOG_LEVEL": "warning"}
