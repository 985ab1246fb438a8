"""Two registries of different currencies that share a pool, for tests of swaps."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from hansa.rooms.transfers.pools import POOL_JOBS
from tests.neighbours.crossing_scene import settle
from tests.neighbours.two_registries import Neighbour, Neighbours, neighbours
from tests.registry import DatabaseFarm, TestAgent, TestDeveloper
from tests.running_jobs import run_due, time_passes

ACTS, TERMS, _ = POOL_JOBS


@dataclass(frozen=True)
class Currencies:
    """Registry a has the currency ARA, b has BOB."""

    pair: Neighbours
    treasurer_of_a: TestDeveloper
    treasurer_of_b: TestDeveloper

    @property
    def a(self) -> Neighbour:
        return self.pair.a

    @property
    def b(self) -> Neighbour:
        return self.pair.b

    def other(self, one: Neighbour) -> str:
        return "BOB" if one is self.a else "ARA"

    async def admin(self, one: Neighbour, path: str, body: Any, method: str = "POST") -> httpx2.Response:
        treasurer = self.treasurer_of_a if one is self.a else self.treasurer_of_b
        return await one.registry.http.request(
            method, f"/api/v1/admin/fx{path}", json=body, headers=treasurer.headers
        )

    async def open_pool(self, own: str, foreign: str) -> None:
        """A pool with its home at a, funded by both."""
        body = {"currency": "BOB", "peer": "b.example", "reserve_own": own, "reserve_foreign": foreign}
        opened = await self.admin(self.a, "/pools", body)
        assert opened.status_code == 201, opened.text
        funded = await self.admin(self.b, "/pools/ARA/fund", {"amount": foreign})
        assert funded.status_code == 200, funded.text
        await self.follow()

    async def follow(self) -> None:
        """Deliver the acts on pools to the other registry."""
        for one in (self.a, self.b):
            await time_passes(one.registry.runtime, 60)
            await run_due(one.registry.runtime, ACTS)

    async def settle(self) -> None:
        await settle(self.a, self.b)

    async def pool(self, one: Neighbour) -> dict[str, Any]:
        answer = await one.registry.get(f"/teg/fx/pool?to={self.other(one)}")
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def logged(self, one: Neighbour) -> list[str]:
        """The acts on pools in the log of administrators, oldest first."""
        return await one.registry.database.read(
            lambda tx: tx.fetchval(
                "SELECT array_agg(act ORDER BY id) FROM plumbing_admin_act WHERE act LIKE 'pool.%'"
            )
        )

    async def reserves(self) -> tuple[str, str]:
        """Return the reserves of a's currency and of b's, on which both registries agree."""
        of_a, of_b = await self.pool(self.a), await self.pool(self.b)
        reserves = (of_a["reserve_from"], of_a["reserve_to"])
        assert reserves == (of_b["reserve_to"], of_b["reserve_from"])
        return reserves

    async def prove(self) -> None:
        """The supply of both is exact, and each leg holds the reserve of its pool."""
        for one in (self.a, self.b):
            supply = await one.registry.supply()
            assert (supply["status"], supply["delta"]) == ("OK", "0"), supply
            held = await one.registry.database.query(
                lambda tx: tx.fetchrow(
                    "SELECT (SELECT liquid FROM ledger_account WHERE did LIKE '%:system:fx:%') AS leg,"
                    " (SELECT reserve_own FROM transfers_pool) AS reserve,"
                    " (SELECT in_own + out_own + in_foreign + out_foreign FROM transfers_pool) AS pending"
                )
            )
            assert held["leg"] == held["reserve"], dict(held)
            assert held["pending"] == 0


async def quote(agent: TestAgent, **body: Any) -> httpx2.Response:
    return await agent.registry.post("/teg/fx/quote", json=body, headers=agent.headers)


@asynccontextmanager
async def currencies(
    farm: DatabaseFarm,
    directory: Path,
    *,
    a: dict[str, object] | None = None,
    b: dict[str, object] | None = None,
) -> AsyncIterator[Currencies]:
    """Two such registries, without a pool."""
    one = {"settlement_currency": "ARA", **(a or {})}
    other = {"settlement_currency": "BOB", **(b or {})}
    async with neighbours(farm, directory, a=one, b=other) as pair:
        treasurers = [await each.registry.administrator("admin_treasury") for each in (pair.a, pair.b)]
        yield Currencies(pair, *treasurers)
