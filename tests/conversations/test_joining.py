"""Specification 5 M, P and 6 W 4: two registries become peers by one invitation, in two commands."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from hansa.rooms.federation.peers import READ_A_PEER
from tests.neighbours.two_registries import Neighbour, Neighbours, neighbours
from tests.registry import DatabaseFarm, TestDeveloper
from tests.running_jobs import run_due

INVITATIONS = "/admin/federation/invitations"
PEERS = "/admin/federation/peers"


class Admin:
    """An administrator of the federation at one registry."""

    def __init__(self, one: Neighbour, developer: TestDeveloper) -> None:
        self.one, self.developer = one, developer

    async def post(self, path: str, body: Any, status: int = 200) -> dict[str, Any]:
        answer = await self.one.registry.post(path, json=body, headers=self.developer.headers)
        assert answer.status_code == status, answer.text
        return answer.json()

    async def get(self, path: str, status: int = 200) -> dict[str, Any]:
        answer = await self.one.registry.get(path, headers=self.developer.headers)
        assert answer.status_code == status, answer.text
        return answer.json()

    async def invite(self, **body: Any) -> str:
        return (await self.post(INVITATIONS, body, 201))["invitation"]


async def admin_of(one: Neighbour) -> Admin:
    return Admin(one, await one.registry.administrator("admin_federation"))


@pytest.fixture
async def strangers(database_farm: DatabaseFarm, tmp_path: Path) -> AsyncIterator[Neighbours]:
    async with neighbours(database_farm, tmp_path, joined=False) as pair:
        yield pair


async def test_both_sides_are_peers_after_the_two_commands(strangers: Neighbours):
    a, b = await admin_of(strangers.a), await admin_of(strangers.b)
    text = await a.invite()
    async with asyncio.TaskGroup() as tasks:
        following = tasks.create_task(follow_trust(strangers))
        accepted = await b.post(f"{INVITATIONS}/accept", {"invitation": text}, 201)
        following.cancel()
    assert accepted["status"] == "active", accepted
    await run_due(strangers.a.registry.runtime, READ_A_PEER)
    shown = await a.get(f"{PEERS}/registry-b")
    assert (shown["status"], shown["approval"]) == ("active", "approved"), shown


async def follow_trust(pair: Neighbours) -> None:
    """The listeners take up new roots, as they do each second."""
    while True:
        await pair.a.trust_followed()
        await pair.b.trust_followed()
        await asyncio.sleep(0.1)
