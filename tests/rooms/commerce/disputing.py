"""Agents with disputes, in a registry whose book and holds are proven after each test."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from hansa.rooms.commerce import disputes
from hansa_verify import canonical_json, encoded
from tests.all_events import ALL_EVENTS
from tests.registry import DatabaseFarm, TestAgent, TestDeveloper, TestRegistry
from tests.rooms.commerce.agreements import Agreements, open_agreements
from tests.running_jobs import run_due, time_passes

SHA256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
EVIDENCE = {"uri": "https://work.example.org/1", "sha256": SHA256, "note": "What was delivered."}
FOR_COMPLAINANT, FOR_DEFENDANT = "IN_FAVOR_OF_COMPLAINANT", "IN_FAVOR_OF_DEFENDANT"

DISPUTES_EARLIER = """
UPDATE commerce_dispute SET opened_at = opened_at - $2::interval, evidence_until = evidence_until - $2::interval,
  rule_by = rule_by - $2::interval, voting_at = voting_at - $2::interval WHERE id = ANY($1)
"""


@dataclass(frozen=True)
class Disputing:
    """The routes of disputes, and an administrator of enforcement."""

    agreements: Agreements
    administrator: TestDeveloper

    @property
    def registry(self) -> TestRegistry:
        return self.agreements.registry

    async def post(self, agent: TestAgent, path: str, **members: Any) -> httpx2.Response:
        return await self.registry.post(f"/disputes/{path}", json=members, headers=agent.headers)

    async def try_file(self, by: TestAgent, against: TestAgent, **members: Any) -> httpx2.Response:
        body = {"reason_code": "POOR_QUALITY", "description": "Half of it is missing.", **members}
        return await self.post(by, "", defendant_did=against.did, **body)

    async def file(self, by: TestAgent, against: TestAgent, **members: Any) -> Any:
        answer = await self.try_file(by, against, **members)
        assert answer.status_code == 201, answer.text
        return answer.json()

    async def in_voting(self, by: TestAgent, against: TestAgent, **members: Any) -> Any:
        return await self.open_voting(await self.file(by, against, **members))

    async def try_put(self, dispute: Any, act: str, **members: Any) -> httpx2.Response:
        path = f"/api/v1/admin/disputes/{dispute['id']}/{act}"
        return await self.registry.http.put(path, json=members or None, headers=self.administrator.headers)

    async def open_voting(self, dispute: Any) -> Any:
        answer = await self.try_put(dispute, "open-voting")
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def try_rule(self, dispute: Any, ruling: str, **members: Any) -> httpx2.Response:
        return await self.try_put(dispute, "ruling", ruling=ruling, **members)

    async def rule(self, dispute: Any, ruling: str, **members: Any) -> Any:
        answer = await self.try_rule(dispute, ruling, **members)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def read(self, by: TestAgent | TestDeveloper, dispute: Any) -> httpx2.Response:
        return await self.registry.get(f"/disputes/{dispute['id']}", headers=by.headers)

    async def move_clock(self, dispute: Any, seconds: float) -> None:
        """So much time passes for this dispute and for all jobs; none of them is run."""
        await self.agreements.purses.execute(DISPUTES_EARLIER, [dispute["id"]], timedelta(seconds=seconds))
        await time_passes(self.registry.runtime, seconds)

    async def elapse(self, dispute: Any, seconds: float) -> None:
        """Let so much time pass, and do everything that has come due."""
        await self.move_clock(dispute, seconds)
        await run_due(self.registry.runtime, disputes.DISPUTE_DEADLINES)

    async def events(self, dispute: Any) -> list[tuple[str, dict[str, Any]]]:
        """The events of a dispute, oldest first."""
        rows = await self.registry.database.read(
            lambda tx: tx.fetch(
                f"SELECT event_type, data::text FROM {ALL_EVENTS} e WHERE event_type LIKE 'Dispute%'"
                " AND (data ->> 'dispute_id')::bigint = $1 ORDER BY seq",
                dispute["id"],
            )
        )
        return [(row["event_type"], json.loads(row["data"])) for row in rows]

    async def supply(self) -> tuple[float, float]:
        """Units issued and destroyed."""
        supply = await self.registry.supply()
        assert (supply["status"], supply["delta"]) == ("OK", "0")
        return float(supply["tokens_issued"]), float(supply["tokens_destroyed"])


@asynccontextmanager
async def open_disputing(farm: DatabaseFarm, directory: Path, **settings: object) -> AsyncIterator[Disputing]:
    """A registry whose agents dispute."""
    async with open_agreements(farm, directory, **settings) as agreements:
        yield Disputing(agreements, await agreements.registry.administrator("admin_enforcement"))


def receipt(by: TestAgent, token_id: str, request_digest: str) -> str:
    """A delivery receipt of an agent, which answers this request now."""
    key = load_pem_private_key(by.created["private_key_pem"].encode(), password=None)
    assert isinstance(key, Ed25519PrivateKey)
    payload = {
        "kind": "pay.delivery.v1",
        "token_id": token_id,
        "request_digest": request_digest,
        "answer_digest": f"sha256:{SHA256}",
        "at": datetime.now(UTC).isoformat(),
    }
    header = {"alg": "EdDSA", "kid": "1", "typ": "pay-delivery+jws"}
    signed = ".".join(encoded(canonical_json(one)) for one in (header, payload))
    return f"{signed}.{encoded(key.sign(signed.encode()))}"
