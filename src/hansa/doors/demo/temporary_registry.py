"""A registry of the demo's own: in a temporary directory, on a free port, with an administrator, deleted afterwards."""

import asyncio
import os
import secrets
import socket
import sys
import tempfile
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from hansa.doors.demo.client import DemoFailed
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Database
from hansa.foundation.plumbing.storage.embedded.server import running_dsn

START_SECONDS = 300
COMMAND = (sys.executable, "-m", "hansa.doors.operate")
# An agent of the demo can deposit this bond; the default is all that a new agent is granted.
SETTINGS = {"LOG_LEVEL": "warning", "BOND_MINIMUM": "1", "EXCHANGE_ENABLED": "true"}
_A_DAY_EARLIER = """
UPDATE exchange_revenue SET launched_on = launched_on - 1
WHERE ref = $1 AND EXISTS (SELECT FROM exchange_credit WHERE ref = $1) RETURNING true
"""
AREAS = ("admin_enforcement", "admin_platform")


@dataclass(frozen=True)
class Administrator:
    """The account that rules on disputes and approves listings."""

    email: str
    password: str = field(repr=False)


class TemporaryRegistry(msgspec.Struct, frozen=True):
    """Address of the registry, its administrator, the place of a service that it may call, and its data directory."""

    url: str
    administrator: Administrator
    listener: socket.socket
    directory: Path


@asynccontextmanager
async def temporary_registry() -> AsyncIterator[TemporaryRegistry]:
    """Start it, and create an administrator in it. Raises: DemoFailed."""
    with (
        tempfile.TemporaryDirectory(prefix="hansa-demo-") as directory,
        socket.create_server(("127.0.0.1", 0)) as listener,
    ):
        settings = {**SETTINGS, "OUTGOING_ALLOW_USER_HOSTS": "{}:{}".format(*listener.getsockname())}
        process = await asyncio.create_subprocess_exec(
            *[*COMMAND, "serve", "--port=0", f"--data-dir={directory}"],
            stdout=PIPE,
            env=environment(settings),
        )
        try:
            url = await address_of(process)
            administrator = await create_administrator(directory, environment(settings), *AREAS)
            yield TemporaryRegistry(url, administrator, listener, Path(directory))
        finally:
            if process.returncode is None:
                process.terminate()
            await process.wait()


async def let_a_day_pass(directory: Path, ref: str) -> bool:
    """Date the launch of a listing a day back in the registry of this directory, since no demo waits for the next day.

    The registry levies and distributes by its own jobs. False, with nothing changed, until it has counted revenue of the
    listing: a levy before that would have none.
    """
    database = Database(running_dsn(directory), pool_size=1)
    await database.open()
    try:
        return bool(await database.transaction(lambda tx: tx.fetchval(_A_DAY_EARLIER, ref)))
    finally:
        await database.close()


async def address_of(process: Process) -> str:
    """Return the address at which a registry listens that was just started. Raises: DemoFailed."""
    assert process.stdout is not None
    try:
        async with asyncio.timeout(START_SECONDS):
            line = (await process.stdout.readline()).decode()
    except TimeoutError:
        raise DemoFailed(f"the registry did not start within {START_SECONDS} seconds") from None
    if not line.startswith("ready "):
        raise DemoFailed("the registry did not start; the reason is printed above")
    return line.removeprefix("ready ").strip()


async def create_administrator(directory: str, variables: dict[str, str], *areas: str) -> Administrator:
    """Create an administrator of these areas, of enforcement without any, in this directory. Raises: DemoFailed."""
    made = Administrator("enforcement@example.com", "Demo-" + secrets.token_urlsafe(12) + "-9a!")
    options = (
        "--name=Enforcement",
        f"--email={made.email}",
        f"--areas={','.join(areas) or 'admin_enforcement'}",
    )
    process = await asyncio.create_subprocess_exec(
        *[*COMMAND, "admin", "create", *options, f"--data-dir={directory}"],
        stdout=DEVNULL,
        env={**variables, "HANSA_ADMIN_PASSWORD": made.password},
    )
    if await process.wait():
        raise DemoFailed("the administrator was not created; the reason is printed above")
    return made


def environment(chosen: dict[str, str]) -> dict[str, str]:
    """The variables of this process, with these settings alone: others describe a registry that is not the demo's."""
    settings = {name.upper() for name in Settings.model_fields}
    stored = {
        name: value
        for name, value in os.environ.items()
        if name.upper() not in settings and not name.upper().startswith("HANSA_")
    }
    return {**stored, **chosen}
