"""Registries whose operators type what the guide "Join a federation" says."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from tests.operation.registry_process import Ended, RegistryProcess, run

GUIDE = (Path(__file__).parents[2] / "docs" / "guides" / "join-a-federation.md").read_text()


@dataclass(frozen=True)
class Operated:
    """A registry with the settings that its operator chose."""

    process: RegistryProcess
    settings: dict[str, str]

    async def hansa(self, command: str) -> Ended:
        return await run(*command.split(), data_dir=self.process.data_dir, **self.settings)

    async def printed(self, command: str) -> Any:
        """What a command of the guide prints with --json."""
        ended = await self.hansa(f"{command} --json")
        assert ended.code == 0, ended
        return json.loads(ended.output)

    async def get(self, path: str) -> httpx2.Response:
        async with httpx2.AsyncClient(base_url=self.process.url, trust_env=False, timeout=30) as http:
            return await http.get(path)


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
    """Wait for what must come to pass."""
    async with asyncio.timeout(60):
        while not await condition():  # noqa: ASYNC110
            await asyncio.sleep(0.2)
