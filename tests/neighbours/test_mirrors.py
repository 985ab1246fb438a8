"""Cards of one registry at another: mirrored, changed, unlisted, ended, and compared once a day."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from hansa.rooms.federation import SYNC_PEER, SyncOutcome
from tests.neighbours.two_registries import Neighbour, Neighbours, neighbours
from tests.registry import DatabaseFarm, TestAgent, TestDeveloper


@pytest.fixture(scope="module")
async def pair(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Neighbours]:
    async with neighbours(database_farm, tmp_path_factory.mktemp("pair")) as pair:
        yield pair


async def read(one: Neighbour, other: Neighbour) -> SyncOutcome:
    """Everything new at the other one."""
    runtime = one.registry.runtime
    await other.registry.transactions_ended()
    return await SYNC_PEER.of(runtime)(runtime, await one.peer(other))


async def card_at(one: Neighbour, did: str) -> dict[str, Any]:
    answer = await one.registry.get(f"/agents/by-did/{did}")
    assert answer.status_code == 200, answer.text
    return answer.json()


async def owned_agent(one: Neighbour, **card: Any) -> tuple[TestDeveloper, TestAgent]:
    owner = await one.registry.developer()
    return owner, await owner.agent(**card)


async def test_an_agent_of_a_peer_is_found_here_with_its_home(pair: Neighbours):
    agent = await pair.b.registry.agent(name="Wanderer of the north")
    outcome = await read(pair.a, pair.b)
    assert outcome.changed >= 1
    assert not outcome.refused, outcome
    card = await card_at(pair.a, agent.did)
    assert (card["is_federated"], card["origin"], card["trust_domain"]) == (True, "b.example", "b.example")
    home = await card_at(pair.b, agent.did)
    assert card["name"] == home["name"]
    await pair.a.registry.indexed()
    found = (await pair.a.registry.get("/discover", params={"query": "Wanderer of the north"})).json()
    assert [result["did"] for result in found["results"]] == [agent.did]
