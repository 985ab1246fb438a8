"""Two serving registries of different currencies: swaps, the bridge and slashes between them, and the invariants afterwards."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any

import httpx2

from tests.operation.crossing_sides import QUIET_SECONDS, Crossing, Side, crossing_registries
from tests.properties.proof import prove_book
from tests.registry import DatabaseFarm, TestDeveloper

RESERVE = "10000"
FRAMES = {"is_central_registry": True, "sovereign_mainframes": ["a.example", "b.example"]}

_TIME_PASSES = """
WITH sagas AS (UPDATE transfers_bridge_saga SET next_at = now() WHERE next_at IS NOT NULL RETURNING 1),
  slashes AS (UPDATE commerce_settlement SET next_at = now() WHERE next_at IS NOT NULL RETURNING 1),
  decisions AS (UPDATE transfers_bridge_decision SET next_at = now() WHERE next_at IS NOT NULL RETURNING 1),
  jobs AS (UPDATE plumbing_job SET due_at = now() WHERE (kind LIKE 'commerce: s%' OR kind LIKE 'transfers: bridge%') AND state = 'waiting')
SELECT (SELECT count(*) FROM sagas) + (SELECT count(*) FROM slashes) + (SELECT count(*) FROM decisions)
  + (SELECT count(*) FROM commerce_settlement WHERE status = 'SLASHING')
"""
_UNDER_WAY = """
SELECT 'swap ' || state FROM transfers_sent WHERE next_at IS NOT NULL
UNION SELECT 'swap in ' || state FROM transfers_received WHERE next_at IS NOT NULL
UNION SELECT 'bridge ' || state FROM transfers_bridge_saga WHERE next_at IS NOT NULL
UNION SELECT 'slash ' || direction || ' ' || status FROM commerce_settlement WHERE next_at IS NOT NULL
"""
_POOL = """
SELECT reserve_own, reserve_foreign, in_own + out_own + in_foreign + out_foreign AS pending,
  (SELECT liquid FROM ledger_account WHERE did LIKE '%:system:fx:%') AS leg FROM transfers_pool
"""
_SLASHES = "SELECT dispute_id, status, slashed_amount, compensated, is_closed FROM commerce_settlement"


@dataclass
class Sagas:
    """Operations between the two, and the steps that were under way when a process was killed."""

    crossing: Crossing
    administrators: dict[str, TestDeveloper]
    interrupted: set[str] = field(default_factory=set)

    @property
    def a(self) -> Side:
        return self.crossing.a

    @property
    def b(self) -> Side:
        return self.crossing.b

    async def open_pool(self) -> None:
        body = {"currency": "BOB", "peer": "b.example", "reserve_own": RESERVE, "reserve_foreign": RESERVE}
        await self.administer(self.a, "POST", "/admin/fx/pools", body)
        await self.administer(self.b, "POST", "/admin/fx/pools/ARA/fund", {"amount": RESERVE})
        async with asyncio.timeout(QUIET_SECONDS):
            while (await self.pool(self.a))["reserve_foreign"] == 0:  # noqa: ASYNC110
                await asyncio.sleep(0.1)

    async def administer(self, side: Side, method: str, path: str, body: Any = None) -> Any:
        """A request of the administrator, to the database of the registry itself: it does not end with the process."""
        headers = self.administrators[side.registry.settings.trust_domain].headers
        answer = await side.registry.http.request(method, f"/api/v1{path}", json=body, headers=headers)
        assert answer.is_success, answer.text
        return answer.json()

    async def ask(
        self, http: httpx2.AsyncClient, side: Side, number: int, path: str, body: dict[str, str]
    ) -> None:
        """A request of an agent to the process, which may be killed meanwhile."""
        url, headers = f"{side.process.url}/api/v1{path}", side.agents[number].headers
        try:
            answer = await http.post(url, json=body, headers=headers)
        except httpx2.TransportError:
            return
        assert answer.status_code in {200, 402, 404, 409, 503}, answer.text

    async def begin(self, http: httpx2.AsyncClient, saga: str) -> None:
        """One saga of this kind at `a`, of its first agent."""
        to = self.b.agents[0].did
        match saga:
            case "wrap":
                await self.ask(http, self.a, 0, "/bridge/transfer", {"receiver_did": to, "amount": "0.2"})
            case "redeem":
                redemption = {"wrapped_currency": "BOB.b.example", "amount": "0.1", "receiver_did": to}
                await self.ask(http, self.a, 0, "/bridge/redeem", redemption)
            case "swap":
                swap = {"receiver_did": to, "amount": "0.5", "min_amount_out": "0.00000001"}
                await self.ask(http, self.a, 0, "/teg/send", swap)
            case _:
                await self.slash(0)

    async def let_hold_wrapped(self) -> None:
        """The first agent of `a` holds wrapped units of `b`."""
        async with httpx2.AsyncClient(timeout=60, trust_env=False) as http:
            to = self.a.agents[0].did
            await self.ask(http, self.b, 0, "/bridge/transfer", {"receiver_did": to, "amount": "0.2"})
        await self.heal()

    async def slash(self, number: int) -> None:
        """A dispute at `a` against an agent of `b` is ruled; nothing but a slash, as there was no payment."""
        complainant, defendant = self.a.agents[number], self.b.agents[number]
        body = {"defendant_did": defendant.did, "reason_code": "OTHER", "description": "No."}
        filed = await complainant.registry.post("/disputes/", json=body, headers=complainant.headers)
        assert filed.status_code == 201, filed.text
        path = f"/admin/disputes/{filed.json()['id']}"
        await self.administer(self.a, "PUT", f"{path}/open-voting")
        ruling = {"ruling": "IN_FAVOR_OF_COMPLAINANT", "slash_amount": "0.5", "note": "Seen."}
        await self.administer(self.a, "PUT", f"{path}/ruling", ruling)

    async def approve(self) -> None:
        """Whatever is pending at `b`."""
        path = "/federation/disputes/settlements"
        listed = await self.administer(self.b, "GET", f"{path}?status=PENDING_SLASH")
        for one in listed["items"]:
            await self.administer(self.b, "POST", f"{path}/{one['settlement_id']}/approve")

    async def note_interrupted(self) -> None:
        for side in (self.a, self.b):
            rows = await side.registry.database.query(lambda tx: tx.fetch(_UNDER_WAY))
            self.interrupted |= {row[0] for row in rows}

    async def heal(self) -> None:
        """Until both sides know the outcome of everything."""
        await self.crossing.heal()
        deadline = monotonic() + QUIET_SECONDS
        while True:
            await self.approve()
            left = [
                await side.registry.database.transaction(lambda tx: tx.fetchval(_TIME_PASSES))
                for side in (self.a, self.b)
            ]
            if left == [0, 0]:
                return
            assert monotonic() < deadline, "a saga or a slash has no end although the network healed"
            await asyncio.sleep(0.2)

    async def pool(self, side: Side) -> dict[str, Any]:
        row = await side.registry.database.query(lambda tx: tx.fetchrow(_POOL))
        assert row is not None
        return dict(row)

    async def prove(self) -> None:
        home, away = await self.pool(self.a), await self.pool(self.b)
        assert (home["reserve_own"], home["reserve_foreign"]) == (
            away["reserve_foreign"],
            away["reserve_own"],
        )
        assert home["reserve_own"] * home["reserve_foreign"] >= (int(RESERVE) * 10**8) ** 2
        audits = []
        for side, pool in ((self.a, home), (self.b, away)):
            assert (pool["pending"], pool["leg"]) == (0, pool["reserve_own"])
            await side.registry.database.read(prove_book)
            answer = await side.registry.get("/projections/supply-audit", headers=side.registry.internal)
            audits.append(answer.json())
            assert (audits[-1]["status"], audits[-1]["delta"]) == ("OK", "0")
        for one, other in (audits, audits[::-1]):
            wrapped = [line["wrapped"] for line in other["wrapped"]]
            assert [line["locked"] for line in one["locked"]] == wrapped
        asked, decided = [
            {row["dispute_id"]: tuple(row.values())[1:3] for row in rows}
            for rows in [
                await side.registry.database.query(lambda tx: tx.fetch(_SLASHES)) for side in (self.a, self.b)
            ]
        ]
        assert asked == decided
        assert {status for status, _ in asked.values()} <= {"SETTLED", "FAILED"}


@asynccontextmanager
async def saga_registries(farm: DatabaseFarm, directory: Path) -> AsyncIterator[Sagas]:
    """Both serve, share a pool and are sovereign mainframes."""
    one, other = {"settlement_currency": "ARA", **FRAMES}, {"settlement_currency": "BOB", **FRAMES}
    async with crossing_registries(farm, directory, a=one, b=other) as crossing:
        areas = ("admin_enforcement", "admin_treasury")
        administrators = {
            side.registry.settings.trust_domain: await side.registry.administrator(*areas)
            for side in (crossing.a, crossing.b)
        }
        sagas = Sagas(crossing, administrators)
        await sagas.open_pool()
        yield sagas
