"""`hansa-client` typed by its user: in an environment of its own, or within the process of the test."""

import asyncio
import json
import os
from asyncio.subprocess import PIPE, Process
from dataclasses import dataclass
from pathlib import Path

from typer.testing import CliRunner

from hansa_client.commands.program import app
from tests.registry import PASSWORD

END_SECONDS = 60


@dataclass
class Terminal:
    """Where one user types commands; `said` is all that was ever printed."""

    programs: Path
    home: Path
    environment: dict[str, str]
    said: str = ""

    @property
    def directory(self) -> Path:
        return self.home / ".config" / "hansa-client"

    async def start(self, *arguments: str) -> Process:
        return await asyncio.create_subprocess_exec(
            *(self.programs / "hansa-client", *arguments),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=PIPE,
            stderr=PIPE,
            env={
                "PATH": os.defpath,
                "HOME": str(self.home),
                "HANSA_CLIENT_PASSWORD": PASSWORD,
                **self.environment,
            },
        )

    async def run(self, *arguments: str, code: int = 0) -> str:
        """What a command printed; of one that failed, its one line on standard error."""
        async with asyncio.timeout(END_SECONDS):
            process = await self.start(*arguments)
            output, complaint = (text.decode() for text in await process.communicate())
        self.said += output + complaint
        assert process.returncode == code, output + complaint
        assert complaint.count("\n") == (1 if code else 0), complaint
        return complaint if code else output

    async def json(self, *arguments: str) -> dict:
        return json.loads(await self.run(*arguments, "--json"))


@dataclass
class Typed:
    """The same commands without a process for each: for tests of many commands. The environment is that of the test."""

    home: Path
    said: str = ""

    async def run(self, *arguments: str, code: int = 0) -> str:
        """What a command printed; of one that failed, its line on standard error."""
        ended = await asyncio.to_thread(CliRunner().invoke, app, arguments)
        self.said += ended.output
        assert ended.exit_code == code, ended.output + repr(ended.exception)
        return ended.stderr if code else ended.stdout

    async def json(self, *arguments: str) -> dict:
        return json.loads(await self.run(*arguments, "--json"))


async def logged_in(terminal: Terminal | Typed, address: str) -> None:
    keys = str(terminal.home / "recovery-keys")
    options = ["--name", "Ada", "--email", "ada@example.org", "--recovery-keys", keys, "--accept-terms"]
    await terminal.run("register", address, *options)
    await terminal.run("login", address, "--email", "ada@example.org")
