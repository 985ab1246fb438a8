"""The registries of the demo: each a process of its own with its own database, keys and certificate authority."""

import asyncio
import json
import secrets
import socket
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any

import httpx2

from hansa.doors.demo.client import OK, DemoClient, DemoFailed
from hansa.doors.demo.screen import Screen
from hansa.doors.demo.temporary_registry import (
    COMMAND,
    address_of,
    create_administrator,
    environment,
)

CURRENCIES = {"north": "AVT", "south": "AVT", "west": "WEST"}
AREAS = ("admin_enforcement", "admin_federation", "admin_treasury")
REQUEST_SECONDS = 60
WAIT_SECONDS = 60
PAUSE_SECONDS = 0.1


@dataclass
class DemoRegistry:
    """One registry; `settings` are its variables."""

    name: str
    directory: Path
    settings: dict[str, str] = field(repr=False)
    http: httpx2.AsyncClient = field(repr=False)
    client: DemoClient = field(repr=False)
    process: Process | None = field(default=None, repr=False)
    administrators_token: str = field(default="", repr=False)

    @property
    def url(self) -> str:
        """Its public address."""
        return self.settings["PUBLIC_BASE_URL"]

    @property
    def currency(self) -> str:
        """The code of its unit."""
        return self.settings["SETTLEMENT_CURRENCY"]

    async def start(self) -> None:
        """Start the process and wait until it serves. Raises: DemoFailed."""
        words = ["serve", f"--port={self.settings['PORT']}", f"--data-dir={self.directory}"]
        self.process = await asyncio.create_subprocess_exec(
            *COMMAND, *words, stdout=PIPE, env=environment(self.settings)
        )
        await address_of(self.process)

    async def kill(self) -> None:
        """End the process as a power failure does."""
        assert self.process is not None
        self.process.kill()
        await self.process.wait()

    async def stop(self) -> None:
        """End the process in order; the database ends with it."""
        if self.process is not None and self.process.returncode is None:
            self.process.terminate()
            await self.process.wait()

    async def command(self, *words: str) -> Any:
        """Return the output of a command of the operator. Raises: DemoFailed."""
        process = await asyncio.create_subprocess_exec(
            *[*COMMAND, *words, "--json", f"--data-dir={self.directory}"],
            stdout=PIPE,
            stderr=PIPE,
            stdin=DEVNULL,
            env=environment(self.settings),
        )
        output, complaint = await process.communicate()
        if process.returncode:
            shown = " ".join(words[:2])
            raise DemoFailed(f"hansa {shown} at {self.name} failed: {complaint.decode().strip()[-300:]}")
        return json.loads(output)

    async def appoint(self) -> None:
        """Create an administrator, and log it in. Raises: DemoFailed."""
        made = await create_administrator(str(self.directory), environment(self.settings), *AREAS)
        form = {"username": made.email, "password": made.password}
        login = await self.client.ask("POST", "/api/v1/auth/login", data=form)
        self.administrators_token = login.json()["access_token"]

    async def administer(self, method: str, path: str, body: Any = None, *, expect: int = OK) -> Any:
        """The answer to a request of the administrator. Raises: DemoFailed."""
        headers = {"Authorization": f"Bearer {self.administrators_token}"}
        answer = await self.client.ask(method, f"/api/v1{path}", expect=expect, json=body, headers=headers)
        return answer.json()

    async def internal(self, path: str) -> Any:
        """Return the answer of a route for internal callers. Raises: DemoFailed."""
        key = {"X-Internal-Key": self.settings["INTERNAL_API_KEY"]}
        return (await self.client.ask("GET", path, expect=OK, headers=key)).json()


@asynccontextmanager
async def three_registries(directory: Path, screen: Screen) -> AsyncIterator[list[DemoRegistry]]:
    """Start them together; they are stopped at the end. Raises: DemoFailed."""
    ports = {name: (_free_port(), _free_port()) for name in CURRENCIES}
    places = [f"127.0.0.1:{port}" for pair in ports.values() for port in pair]
    async with AsyncExitStack() as stack:
        registries = []
        for name, (public, federation) in ports.items():
            settings = _settings(name, public, federation, places)
            http = await stack.enter_async_context(
                httpx2.AsyncClient(
                    base_url=settings["PUBLIC_BASE_URL"], timeout=REQUEST_SECONDS, trust_env=False
                )
            )
            registries.append(DemoRegistry(name, directory / name, settings, http, DemoClient(http, screen)))
            stack.push_async_callback(registries[-1].stop)
        await asyncio.gather(*(registry.start() for registry in registries))
        yield registries


async def until(condition: Callable[[], Awaitable[bool]], otherwise: str) -> None:
    """Wait for a state that a sound federation reaches. Raises: DemoFailed."""
    deadline = monotonic() + WAIT_SECONDS
    while not await condition():
        if monotonic() > deadline:
            raise DemoFailed(f"{otherwise} after {WAIT_SECONDS} seconds")
        await asyncio.sleep(PAUSE_SECONDS)


def _settings(name: str, public: int, federation: int, places: list[str]) -> dict[str, str]:
    return {
        "PORT": str(public),
        "TRUST_DOMAIN": f"{name}.example",
        "REGISTRY_NAME": name,
        "SETTLEMENT_CURRENCY": CURRENCIES[name],
        # The bridge is between sovereign mainframes.
        "IS_CENTRAL_REGISTRY": "true",
        "SOVEREIGN_MAINFRAMES": ",".join(f"{one}.example" for one in CURRENCIES),
        "PUBLIC_BASE_URL": f"http://127.0.0.1:{public}",
        "FEDERATION_PORT": str(federation),
        "FEDERATION_BASE_URL": f"https://127.0.0.1:{federation}",
        "OUTGOING_ALLOW_HOSTS": ",".join(places),
        "FEDERATION_SYNC_INTERVAL_SECONDS": "1",
        "ENFORCEMENT_PROPAGATION_MODE": "enforce",
        "INTERNAL_API_KEY": secrets.token_hex(32),
        # One connection is enough for each part of a registry that serves a demo.
        "DATABASE_POOL_SIZE": "4",
        "LOG_LEVEL": "error",
    }


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
    return port
