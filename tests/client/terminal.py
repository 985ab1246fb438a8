"""`hansa-client` typed by its user: in an environment of its own, or within the process of the test."""

import asyncio
import json
import os
from asyncio.subprocess import PIPE, Process
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from typer.testing import CliRunner

from hansa_client.commands.program import app
from tests.operation.forked_commands import CommandServer, ForkedCommand, Program, can_fork
from tests.registry import PASSWORD

END_SECONDS = 120


@dataclass
class Terminal:
    """Terminal of one user; `said` is all output of its commands."""

    programs: Path
    home: Path
    environment: dict[str, str]
    said: str = ""

    @property
    def directory(self) -> Path:
        return self.home / ".config" / "hansa-client"

    async def start(self, *arguments: str) -> Process | ForkedCommand:
        """Start a command: as a fork, or as the program that is installed where a fork would not be the same."""
        environment = {
            "PATH": os.defpath,
            "HOME": str(self.home),
            "HANSA_CLIENT_PASSWORD": PASSWORD,
            **self.environment,
        }
        if can_fork(environment):
            return await commands_of(self.programs).run(*arguments, environment=environment, stderr=PIPE)
        return await asyncio.create_subprocess_exec(
            *(self.programs / "hansa-client", *arguments),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=PIPE,
            stderr=PIPE,
            env=environment,
        )

    async def run(self, *arguments: str, code: int = 0) -> str:
        """Return the output of a command; of one that failed, its one line on standard error."""
        async with asyncio.timeout(END_SECONDS):
            process = await self.start(*arguments)
            output, complaint = (text.decode() for text in await process.communicate())
        self.said += output + complaint
        assert process.returncode == code, output + complaint
        assert complaint.count("\n") == (1 if code else 0), complaint
        return complaint if code else output

    async def json(self, *arguments: str) -> dict:
        return json.loads(await self.run(*arguments, "--json"))


@cache
def commands_of(programs: Path) -> CommandServer:
    """Return the server that is forked for the commands of an environment, one for all tests of a process."""
    client = Program("hansa-client", "hansa_client", "hansa_client.commands", str(programs / "python"))
    return CommandServer(client)


@dataclass
class Typed:
    """The same commands without a process for each: for tests of many commands. The environment is that of the test."""

    home: Path
    said: str = ""

    async def run(self, *arguments: str, code: int = 0) -> str:
        """Return the output of a command; of one that failed, its line on standard error."""
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
