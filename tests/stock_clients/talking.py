"""Programs of others that a test talks with by lines, while they run."""

import asyncio
import json
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.pinned_tools import PinnedTools
from tests.stock_clients.tools import HERE

PATIENCE_SECONDS = 120
# A program that opens a browser of the machine finds none.
NO_BROWSER = {"BROWSER": "/bin/false", "DISPLAY": "", "WAYLAND_DISPLAY": ""}
LINE_MAX = 1 << 20


@dataclass
class Program:
    """A running program; `errors` is its second output."""

    process: asyncio.subprocess.Process
    errors: Path

    async def line(self, beginning: str = "") -> str:
        """The next line of its output that begins so."""
        assert self.process.stdout
        async with asyncio.timeout(PATIENCE_SECONDS):
            while line := await self.process.stdout.readline():
                if line.startswith(beginning.encode()):
                    return line.decode().strip()
        raise AssertionError(self.errors.read_text())

    async def said(self) -> dict[str, Any]:
        """The next line of its output, as JSON."""
        found: dict[str, Any] = json.loads(await self.line())
        return found

    def send(self, line: str) -> None:
        """Send it a line."""
        assert self.process.stdin
        self.process.stdin.write(f"{line}\n".encode())

    async def ended(self) -> int:
        """The code with which it ends by itself."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            await self.process.communicate()
        assert self.process.returncode is not None
        return self.process.returncode


@asynccontextmanager
async def running_node(
    tools: PinnedTools, script: str | Path, *arguments: str, errors: Path, **more: str
) -> AsyncIterator[Program]:
    """A script for Node, one of ours by its name, while a test talks with it; its errors go to a file."""
    if isinstance(script, str):
        own = tools.home / script
        own.unlink(missing_ok=True)
        shutil.copy(HERE / script, own)
        script = own
    with errors.open("wb") as file:
        process = await asyncio.create_subprocess_exec(
            tools.node,
            script,
            *arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=file,
            env={**os.environ, **NO_BROWSER, "NO_COLOR": "1", **more},
            limit=LINE_MAX,
        )
    try:
        yield Program(process, errors)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
