"""Entries that the registry adds to logs of agents."""

from typing import Any

from hansa.rooms.operations.logs import write_notes
from tests.registry import TestAgent


async def entries_of_registry(agent: TestAgent, **query: Any) -> list[dict[str, Any]]:
    """The entries of the registry in the log of an agent, newest first, those included that waited in this process."""
    await write_notes(agent.registry.runtime)
    answer = await agent.registry.get(
        f"/agents/{agent.did}/logs", params={"source": "registry", **query}, headers=agent.headers
    )
    assert answer.status_code == 200, answer.text
    entries: list[dict[str, Any]] = answer.json()["logs"]
    return entries
