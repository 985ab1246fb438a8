"""Agents that make contracts, in a registry whose book and holds are proven after each test."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2

from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import ledger
from hansa.rooms.commerce import contracts
from hansa.rooms.journal.store import COLUMNS, stored
from tests.registry import DatabaseFarm, TestAgent, TestDeveloper, TestRegistry
from tests.rooms.ledger.purses import Purses, open_purses
from tests.running_jobs import run_due, time_passes

WORK = {"uri": "https://work.example.org/1", "sha256": "0" * 64}
DAY = 24 * 3600.0
HOUR = 3600.0

CONTRACTS_EARLIER = """
UPDATE commerce_contract SET submit_by = submit_by - $2::interval, review_by = review_by - $2::interval,
  expires_at = expires_at - $2::interval, turn_at = turn_at - $2::interval, due_at = due_at - $2::interval,
  hold_release_at = hold_release_at - $2::interval, stopped_at = stopped_at - $2::interval,
  ended_at = ended_at - $2::interval WHERE id = ANY($1)
"""

# A hold is open while its contract binds somebody, and it holds what is unpaid with its part of the fee. A disputed
# contract keeps what it held before.
_ORPHANS = """
SELECT h.id FROM ledger_hold h LEFT JOIN commerce_contract c ON c.hold_id = h.id
LEFT JOIN commerce_dispute d ON d.contract_id = c.id AND d.status <> 'CLOSED'
WHERE h.owner_kind = 'contract' AND (c.id IS NULL OR h.owner_id <> c.id::text
  OR (h.remaining > 0) <> (coalesce(d.contract_status, c.status) IN ('ACCEPTED', 'SUBMITTED')
    OR c.hold_release_at IS NOT NULL)
  OR (c.status = 'DISPUTED') <> (d.id IS NOT NULL)
  OR h.captured <> c.amount_paid)
"""


def in_days(days: float) -> str:
    """A date for a proposal."""
    return (datetime.now(UTC) + timedelta(days=days)).isoformat()


@dataclass(frozen=True)
class Agreements:
    """The routes of contracts, and the hands that move their clock."""

    purses: Purses
    owner_of_providers: TestDeveloper

    @property
    def registry(self) -> TestRegistry:
        return self.purses.registry

    async def contractor(self, holding: str = "1000") -> TestAgent:
        return await self.purses.agent(holding)

    async def provider(self) -> TestAgent:
        return await self.owner_of_providers.agent()

    async def post(
        self, agent: TestAgent, path: str, *, key: str | None = None, **members: Any
    ) -> httpx2.Response:
        headers = {**agent.headers, **({"Idempotency-Key": key} if key else {})}
        return await self.registry.post(f"/contracts{path}", json=members, headers=headers)

    async def propose(self, contractor: TestAgent, provider: TestAgent | None, **members: Any) -> Any:
        answer = await self.post(contractor, "", **proposal(provider, **members))
        assert answer.status_code == 201, answer.text
        return answer.json()

    async def act(self, agent: TestAgent, contract: Any, act: str, **members: Any) -> Any:
        answer = await self.post(agent, f"/{contract['id']}/{act}", **members)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def accepted(self, contractor: TestAgent, provider: TestAgent, **members: Any) -> Any:
        proposed = await self.propose(contractor, provider, **members)
        return await self.act(provider, proposed, "accept")

    async def submitted(self, contractor: TestAgent, provider: TestAgent, **members: Any) -> Any:
        accepted = await self.accepted(contractor, provider, **members)
        return await self.act(provider, accepted, "submit", deliverable=WORK)

    async def read(self, agent: TestAgent, contract: Any) -> Any:
        answer = await self.registry.get(f"/contracts/{contract['id']}", headers=agent.headers)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def listed(self, agent: TestAgent, path: str = "", **query: Any) -> Any:
        answer = await self.registry.get(f"/contracts{path}", params=query, headers=agent.headers)
        assert answer.status_code == 200, answer.text
        return answer.json()["items"]

    async def move_clock(self, contract: Any, seconds: float) -> None:
        """So much time passes for this contract and for all jobs; none of them is run."""
        moved = ([contract["id"]], timedelta(seconds=seconds))
        await self.purses.execute(CONTRACTS_EARLIER, *moved)
        await self.purses.execute(
            "UPDATE commerce_contract_milestone SET due = due - $2::interval, submitted_at = submitted_at - $2::interval"
            " WHERE contract_id = ANY($1)",
            *moved,
        )
        await time_passes(self.registry.runtime, seconds)

    async def elapse(self, contract: Any, seconds: float) -> None:
        """Let so much time pass, and do everything that has come due."""
        await self.move_clock(contract, seconds)
        await self.run_jobs()

    async def run_jobs(self) -> None:
        await run_due(self.registry.runtime, contracts.CONTRACT_DEADLINES, contracts.CONTRACTS_OF_REVOKED)

    async def balances(self, agent: TestAgent) -> tuple[str, str]:
        """Liquid and escrow, as decimal strings."""
        held = await self.registry.database.read(lambda tx: ledger.balance_of(tx, agent.did))
        return tuple(str(amount / 10**8).removesuffix(".0") for amount in (held.liquid, held.escrow))  # type: ignore[return-value]

    async def events(self, contract: Any) -> list[tuple[str, dict[str, Any]]]:
        """The events of a contract, oldest first."""
        rows = await self.registry.database.read(
            lambda tx: tx.fetch(
                "SELECT event_type, data::text FROM journal_event WHERE aggregate_type = 'contract'"
                " AND (data ->> 'contract_id')::bigint = $1 ORDER BY seq",
                contract["id"],
            )
        )
        return [(row["event_type"], json.loads(row["data"])) for row in rows]

    async def follow(self, agent: TestAgent) -> None:
        """Have contracts follow the events of this agent, and run the jobs that they enqueue."""
        kinds = list(contracts.CONTRACTS_FOLLOW.type_names)

        async def react(tx: Tx) -> None:
            rows = await tx.fetch(
                f"SELECT {COLUMNS} FROM journal_event WHERE event_type = ANY($1) AND aggregate_id = $2 ORDER BY seq",
                kinds,
                agent.did,
            )
            for event in stored(rows):
                await contracts.CONTRACTS_FOLLOW.react(tx, event)

        await self.registry.database.transaction(react)
        await self.run_jobs()

    async def prove(self) -> None:
        await self.purses.prove()
        orphans = await self.registry.database.read(lambda tx: tx.fetch(_ORPHANS))
        assert [row["id"] for row in orphans] == []


def proposal(provider: TestAgent | None, **members: Any) -> dict[str, Any]:
    """The body of a proposal; without members one of 100 units without dates."""
    return {
        **({} if provider is None else {"provider_did": provider.did}),
        "title": "Translate a manual",
        "contract_type": "service",
        "amount": "100",
        "terms": "German to English, 40 pages.",
        "acceptance_criteria": ["Every page is translated."],
        **members,
    }


@asynccontextmanager
async def open_agreements(
    farm: DatabaseFarm, directory: Path, **settings: object
) -> AsyncIterator[Agreements]:
    """A registry whose agents make contracts; contractors and providers have different owners."""
    async with open_purses(farm, directory, **settings) as purses:
        yield Agreements(purses, await purses.registry.developer())


def refused(answer: httpx2.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]
