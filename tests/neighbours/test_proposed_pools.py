"""Specification 6 W 16: one pool for each pair, also where both registries open one while they do not reach each other."""

import pytest

from tests.neighbours.crossing_scene import LostCalls, refusal
from tests.neighbours.pool_scene import Currencies, currencies
from tests.neighbours.two_registries import Neighbour
from tests.registry import DatabaseFarm


async def treasury(one: Neighbour) -> int:
    units: int = await one.registry.database.query(
        lambda tx: tx.fetchval("SELECT liquid FROM ledger_account WHERE did LIKE '%:system:treasury'")
    )
    return units


async def test_of_two_pools_the_one_that_the_other_side_does_not_know_yet_is_refused_and_given_back(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
):
    async with currencies(database_farm, tmp_path_factory.mktemp("proposed")) as scene:
        lost = LostCalls(monkeypatch)
        lost.loses = lambda _: "request"
        of_b = {"currency": "ARA", "peer": "a.example", "reserve_own": "2000", "reserve_foreign": "1000"}
        opened = await scene.admin(scene.b, "/pools", of_b)
        assert opened.status_code == 201, opened.text
        lost.loses = lambda _: None
        before = await treasury(scene.a)
        of_a = {"currency": "BOB", "peer": "b.example", "reserve_own": "1000", "reserve_foreign": "2000"}
        assert await refusal(await scene.admin(scene.a, "/pools", of_a)) == (409, "POOL_EXISTS")
        assert await treasury(scene.a) == before
        assert (await scene.a.registry.get("/teg/fx/pool?to=BOB")).status_code == 404

        await scene.follow()
        proposed = await scene.pool(scene.a)
        assert (proposed["home"], proposed["proposed"]) == ("b.example", "1000")
        # The answer to the funding is lost: it is sent again, and counts once.
        lost.loses = lambda _: "answer"
        assert (await scene.admin(scene.a, "/pools/BOB/fund", {"amount": "1000"})).status_code == 200
        await scene.follow()
        lost.loses = lambda _: None
        await settle_acts(scene)
        assert await scene.reserves() == ("1000", "2000")
        assert (await scene.pool(scene.b))["proposed"] is None
        await scene.prove()


async def settle_acts(scene: Currencies) -> None:
    """The back-off of the job is over."""
    for _ in range(3):
        await scene.follow()
