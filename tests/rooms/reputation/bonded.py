"""Agents with bonds, in a registry whose book and bonds are proven after each test."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx2

from hansa.foundation.values.money import parse_positive
from hansa.rooms import commerce
from tests.registry import DatabaseFarm, TestAgent, TestRegistry
from tests.rooms.commerce.agreements import Agreements, open_agreements

DAY = timedelta(days=1)

_EARLIER = """
UPDATE reputation_bond SET matures_at = matures_at - $2::interval, releasable_at = releasable_at - $2::interval
WHERE agent_did = $1
"""

# One open hold for each bond that holds something, of the bonded agent's account, and the card says the same.
_ORPHANS = """
SELECT b.agent_did, h.id, c.bond_state, c.bond_amount FROM reputation_bond b
FULL JOIN ledger_hold h ON h.id = b.hold_id LEFT JOIN ledger_account a ON a.id = h.payer_id
LEFT JOIN catalogue_card c ON c.did = b.agent_did
WHERE (h.id IS NULL OR h.owner_kind = 'reputation_bond') AND (
  (h.remaining > 0) IS DISTINCT FROM (b.hold_id IS NOT NULL) AND (h.remaining > 0 OR b.hold_id IS NOT NULL)
  OR b.hold_id IS NOT NULL AND (a.did <> b.agent_did OR h.owner_id <> b.id::text)
  OR c.bonded IS DISTINCT FROM (b.state = 'active') AND b.agent_did IS NOT NULL
  OR c.bond_amount IS DISTINCT FROM CASE WHEN b.state IN ('active', 'releasing', 'slashed')
    THEN coalesce(h.remaining, 0) END)
"""


@dataclass(frozen=True)
class Bonded:
    """Routes of bonds, a ruling that slashes, and the moves of the clock of a bond."""

    agreements: Agreements

    @property
    def registry(self) -> TestRegistry:
        return self.agreements.registry

    async def post(
        self, agent: TestAgent, act: str, *, of: str | None = None, key: str | None = None, **members: Any
    ) -> httpx2.Response:
        headers = {**agent.headers, **({"Idempotency-Key": key} if key else {})}
        path = f"/agents/{of or agent.did}/reputation-bond/{act}"
        return await self.registry.post(path, json=members, headers=headers)

    async def act(self, agent: TestAgent, act: str, **members: Any) -> Any:
        answer = await self.post(agent, act, **members)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def status(self, agent: TestAgent) -> Any:
        answer = await self.registry.get(f"/agents/{agent.did}/reputation-bond/status")
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def slash(self, agent: TestAgent, amount: str, ref: str) -> commerce.BondSlashed:
        """Destroy the units of a bond as a ruling does."""
        slash = commerce.SLASH_BOND.of(self.registry.runtime)
        asked = commerce.BondSlash(agent.did, parse_positive(amount), ref)
        return await self.registry.database.transaction(lambda tx: slash(tx, asked, self.registry.settings))

    async def elapse(self, agent: TestAgent, time: timedelta) -> None:
        """So much time passes for the bond of an agent."""
        await self.agreements.purses.execute(_EARLIER, agent.did, time)

    async def prove(self) -> None:
        await self.agreements.prove()
        orphans = await self.registry.database.read(lambda tx: tx.fetch(_ORPHANS))
        assert [dict(row) for row in orphans] == []


@asynccontextmanager
async def open_bonded(farm: DatabaseFarm, directory: Path, **settings: object) -> AsyncIterator[Bonded]:
    """A registry that requires bonds of 100 units, which mature in 14 days."""
    async with open_agreements(farm, directory, **{"bond_mode": "enforce", **settings}) as agreements:
        yield Bonded(agreements)
