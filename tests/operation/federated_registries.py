"""Registries whose operators type the commands of the guide "Join a federation"."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from tests.operation.conftest import end_postgres
from tests.operation.registry_process import Ended, RegistryProcess, free_port, run

GUIDE = (Path(__file__).parents[2] / "docs" / "guides" / "join-a-federation.md").read_text()


@dataclass(frozen=True)
class Operated:
    """A registry with the settings that its operator chose."""

    process: RegistryProcess
    settings: dict[str, str]

    async def hansa(self, command: str) -> Ended:
        return await run(*command.split(), data_dir=self.process.data_dir, **self.settings)

    async def printed(self, command: str) -> Any:
        """Return the output of a command of the guide with --json."""
        ended = await self.hansa(f"{command} --json")
        assert ended.code == 0, ended
        return json.loads(ended.output)

    async def get(self, path: str) -> httpx2.Response:
        async with httpx2.AsyncClient(base_url=self.process.url, trust_env=False, timeout=60) as http:
            return await http.get(path)


@asynccontextmanager
async def two_operated(migrated: Path, *directories: Path) -> AsyncIterator[tuple[Operated, Operated]]:
    """Two registries that serve, a.example and b.example; nobody is a peer yet."""
    chosen = [{"TRUST_DOMAIN": f"{name}.example", "REGISTRY_NAME": f"registry-{name}"} for name in ("a", "b")]
    async with all_operated(chosen, directories, migrated) as registries:
        yield registries[0], registries[1]


@asynccontextmanager
async def all_operated(
    chosen: Sequence[dict[str, str]], directories: Sequence[Path], migrated: Path
) -> AsyncIterator[list[Operated]]:
    """Registries with these settings that serve, each with a database of its own."""
    ports = [(free_port(), free_port()) for _ in chosen]
    places = [f"127.0.0.1:{port}" for pair in ports for port in pair]
    registries = []
    for directory, own, (public, federation) in zip(directories, chosen, ports, strict=True):
        settings = {
            **own,
            "PUBLIC_BASE_URL": f"http://127.0.0.1:{public}",
            "FEDERATION_PORT": str(federation),
            "FEDERATION_BASE_URL": f"https://127.0.0.1:{federation}",
            "OUTGOING_ALLOW_HOSTS": ",".join(places),
            "FEDERATION_SYNC_INTERVAL_SECONDS": "1",
        }
        process = RegistryProcess(directory / "data", port=public, migrated=migrated, **settings)
        registries.append(Operated(process, settings))
    try:
        await asyncio.gather(*(one.process.start() for one in registries))
        yield registries
        for one in registries:
            ended = await one.process.stop()
            assert ended.code == 0, ended
    finally:
        for one in registries:
            await one.process.kill()
            await end_postgres(one.process.data_dir)


def command_of_guide(command: str) -> str:
    """The arguments of a command that stands in the guide as a line of its own."""
    assert f"\n{command}\n" in GUIDE, command
    return command.removeprefix("hansa ")


def by_hand(other: Operated, directory: Path) -> str:
    command = command_of_guide("hansa peer add --registry-url https://b.example --bundle b-bundle.json")
    bundle = directory / f"{other.settings['TRUST_DOMAIN']}.json"
    return command.replace("https://b.example", other.settings["PUBLIC_BASE_URL"]).replace(
        "b-bundle.json", str(bundle)
    )


async def shown(one: Operated, name: str) -> dict[str, Any]:
    return await one.printed(command_of_guide("hansa peer show NAME").replace("NAME", name))


async def is_active(one: Operated, name: str) -> bool:
    return (await shown(one, name))["status"] == "active"


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    """Wait until the condition is true."""
    async with asyncio.timeout(60):
        while not await condition():  # noqa: ASYNC110
            await asyncio.sleep(0.2)
