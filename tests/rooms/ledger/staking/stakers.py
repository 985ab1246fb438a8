"""Agents that stake, in a registry whose book and positions are proven after each test."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from hansa.foundation.values.money import Minor, parse_positive
from hansa.rooms import ledger
from tests.registry import DatabaseFarm, TestAgent
from tests.rooms.ledger.purses import Purses, open_purses

ROLES = ["trader", "client", "staker"]

_ADRIFT = """
SELECT a.did FROM ledger_account a LEFT JOIN ledger_stake_position p ON p.account_id = a.id
GROUP BY a.id HAVING a.staked <> coalesce(sum(p.remaining), 0)
"""


@dataclass(frozen=True)
class Stakers:
    """The doors of staking, and the hands that move its clock."""

    purses: Purses

    async def agent(self, holding: str = "100") -> TestAgent:
        return await self.purses.agent(holding)

    async def post(
        self, agent: TestAgent, path: str, *, key: str | None = None, **members: Any
    ) -> httpx2.Response:
        headers = {**agent.headers, **({"Idempotency-Key": key} if key else {})}
        return await agent.registry.post(f"/staking/{path}", json=members, headers=headers)

    async def raw(self, agent: TestAgent, path: str, body: str) -> httpx2.Response:
        headers = {**agent.headers, "Content-Type": "application/json"}
        return await agent.registry.post(f"/staking/{path}", content=body, headers=headers)

    async def stake(self, agent: TestAgent, amount: object, **members: Any) -> dict[str, Any]:
        answer = await self.post(agent, "stake", amount=amount, **members)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def unstake(self, agent: TestAgent, amount: object, **members: Any) -> dict[str, Any]:
        answer = await self.post(agent, "unstake", amount=amount, **members)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def claim(self, agent: TestAgent) -> dict[str, Any]:
        answer = await self.post(agent, "claim-rewards")
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def read(self, agent: TestAgent, path: str, **query: Any) -> dict[str, Any]:
        answer = await agent.registry.get(f"/staking/{path}", headers=agent.headers, params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def held(self, agent: TestAgent) -> tuple[str, str]:
        """Liquid and staked."""
        balance = await self.read(agent, "balance")
        return balance["liquid_balance"], balance["staked_balance"]

    async def elapse(self, agent: TestAgent, days: int) -> None:
        """Make this agent's positions that much older, to the second."""
        await self.purses.execute(
            "UPDATE ledger_stake_position SET staked_at = staked_at - $2 * interval '1 day',"
            " unlocks_at = unlocks_at - $2 * interval '1 day', rewarded_until = rewarded_until - $2 * interval '1 day'"
            " WHERE account_id = (SELECT id FROM ledger_account WHERE did = $1)",
            agent.did,
            days,
        )

    async def suspend(self, agent: TestAgent) -> None:
        await self.purses.execute("UPDATE ledger_account SET status = 'suspended' WHERE did = $1", agent.did)

    async def fill_fee_collector(self, amount: str, *, number: int = 0) -> None:
        """Grant units to one of the accounts that collect fees."""
        book = ledger.Book.of(self.purses.registry.settings)
        given: Minor = parse_positive(amount)
        collector = (await self.collectors())[number]
        assert await self.purses.registry.database.transaction(
            lambda tx: ledger.grant(tx, payee=collector, amount=given, ref="test fees", book=book)
        )

    async def fee_collector_holds(self, number: int | None = None) -> int:
        """Units of the accounts that collect fees, or of one of them."""
        collectors = await self.collectors()
        chosen = collectors if number is None else [collectors[number]]
        return int(
            await self.purses.fetchval("SELECT sum(liquid) FROM ledger_account WHERE did = ANY ($1)", chosen)
        )

    async def collectors(self) -> list[str]:
        book = ledger.Book.of(self.purses.registry.settings)
        return list(await self.purses.fetchval("SELECT ledger_collectors($1)", book.fee_collector))

    async def events(self, event_type: str, agent: TestAgent) -> list[dict[str, Any]]:
        newest = {"sort_order": "desc", "limit": 500}
        found = await agent.registry.get("/events/", params=newest, headers=agent.registry.internal)
        return [
            event["data"]
            for event in found.json()["items"]
            if event["event_type"] == event_type and event["aggregate_id"] == agent.did
        ]

    async def prove(self) -> None:
        """The book agrees with itself, and each staked balance with the positions of its account."""
        await self.purses.prove()
        adrift = await self.purses.registry.database.read(lambda tx: tx.fetch(_ADRIFT))
        assert [row["did"] for row in adrift] == []


@asynccontextmanager
async def open_stakers(farm: DatabaseFarm, directory: Path, **settings: object) -> AsyncIterator[Stakers]:
    """A registry whose agents may stake."""
    async with open_purses(farm, directory, agent_rbac_default_roles=ROLES, **settings) as purses:
        yield Stakers(purses)


def refused(answer: httpx2.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]
