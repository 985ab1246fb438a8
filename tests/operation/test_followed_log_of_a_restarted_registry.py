"""The log of an agent is followed while its registry is killed, and stopped: each entry once, each outage named once."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from hansa_client import AsyncRegistry, Registry, RetryPolicy
from hansa_client.commands import logs as logs_command
from hansa_client.commands.logs import follow_log
from tests.operation.conftest import end_postgres
from tests.operation.registry_process import RegistryProcess, free_port, until
from tests.registry import PASSWORD, card_of


class Ended(Exception):
    """The user ended the command."""


class Followed:
    """The command in a thread, with the lines that it printed."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.entries: list[str] = []
        self.complaints: list[str] = []
        self._ends = threading.Event()
        patch.setattr(logs_command, "print_entry", lambda entry, **_: self.entries.append(entry.message))
        patch.setattr(logs_command.typer, "echo", lambda text, **_: self.complaints.append(text))
        patch.setattr(logs_command, "sleep", self._wait)

    def _wait(self, _: float) -> None:
        if self._ends.wait(0.05):
            raise Ended

    def follow(self, url: str, credentials: Any) -> None:
        with Registry(url, agent=credentials, retries=RetryPolicy(attempts=1)) as client:
            follow_log(client, None, level=None, text=None, as_json=False)

    def end(self) -> None:
        self._ends.set()


async def test_a_log_is_followed_across_a_killed_and_a_stopped_registry(
    tmp_path: Path, founded_data: Path, monkeypatch: pytest.MonkeyPatch
):
    registry = RegistryProcess(tmp_path / "registry", port=free_port(), founded=founded_data)
    await registry.start()
    followed = Followed(monkeypatch)
    try:
        async with AsyncRegistry(registry.url) as developer:
            await developer.accounts.register(
                "Ada", "ada@example.org", PASSWORD, accept_terms=True, is_of_age=True
            )
            await developer.accounts.login("ada@example.org", PASSWORD)
            credentials = (await developer.agents.create(card=card_of(name="Follower"))).credentials

        async def write(message: str) -> None:
            async with AsyncRegistry(registry.url, agent=credentials) as agent:
                await agent.logs.write([{"level": "INFO", "message": message}])
            await until(lambda: message in followed.entries)

        command = asyncio.create_task(asyncio.to_thread(followed.follow, registry.url, credentials))
        await write("Before")
        for number, outage in enumerate((registry.kill, registry.stop), 1):
            await outage()
            await until(lambda number=number: len(followed.complaints) >= number)
            await registry.start()
            await write(f"After outage {number}")
        followed.end()
        with pytest.raises(Ended):
            await command
        assert followed.entries == ["Before", "After outage 1", "After outage 2"]
        assert [line.endswith("Trying again.") for line in followed.complaints] == [True, True]
    finally:
        followed.end()
        await registry.kill()
        await end_postgres(registry.data_dir)
