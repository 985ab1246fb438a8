"""Acts of the tests of mirrors at two registries: make agents, change them at the holder, and read them at the peer."""

from typing import Any

from hansa.rooms.federation import SYNC_PEER, SyncOutcome
from tests.neighbours.two_registries import Neighbour
from tests.registry import TestAgent, TestDeveloper


async def read(one: Neighbour, other: Neighbour) -> SyncOutcome:
    """Read everything that is new at the other one, as `peer sync` does."""
    runtime = one.registry.runtime
    await other.registry.transactions_ended()
    return await SYNC_PEER.of(runtime)(runtime, await one.peer(other))


async def card_at(one: Neighbour, did: str) -> dict[str, Any]:
    """The agent as this registry shows it."""
    answer = await one.registry.get(f"/agents/by-did/{did}")
    assert answer.status_code == 200, answer.text
    return answer.json()


async def owned_agent(one: Neighbour, **card: Any) -> tuple[TestDeveloper, TestAgent]:
    """A new developer with a new agent."""
    owner = await one.registry.developer()
    return owner, await owner.agent(**card)


async def names_found(one: Neighbour, query: str) -> list[str]:
    """The DIDs that a search finds."""
    await one.registry.indexed()
    answer = await one.registry.get("/discover", params={"query": query})
    return [result["did"] for result in answer.json()["results"]]


async def set_unlisted(owner: TestDeveloper, did: str, *, unlisted: bool) -> None:
    """The owner hides the card, or lists it again."""
    answer = await owner.registry.http.patch(
        f"/api/v1/agent-cards/{did}/listing", json={"unlisted": unlisted}, headers=owner.headers
    )
    assert answer.status_code == 200, answer.text


async def administer(one: Neighbour, act: str, *dids: str) -> None:
    """An administrator suspends, reinstates or revokes agents."""
    administrator = await one.registry.administrator("admin_enforcement")
    answer = await one.registry.post(
        f"/admin/agents/bulk/{act}",
        json={"agent_dids": list(dids), "reason": "Sold what it did not have."},
        headers=administrator.headers,
    )
    assert answer.status_code == 200, answer.text
