"""Contracts between a contractor of registry a and a provider of registry b."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import uuid4

import httpx2

from tests.neighbours.crossing_scene import settle
from tests.neighbours.two_registries import Neighbours
from tests.registry import TestAgent

PROXY = "/api/v1/contracts/cross-registry/proxy"
WORK = {"uri": "https://files.example/work", "sha256": "0" * 64}


@dataclass(frozen=True)
class AgreementAbroad:
    """Contract that is stored at a; the provider sends its requests to b."""

    pair: Neighbours
    contractor: TestAgent
    provider: TestAgent

    @classmethod
    async def between(cls, pair: Neighbours, **contractor: Any) -> "AgreementAbroad":
        return cls(pair, await pair.a.registry.agent(**contractor), await pair.b.registry.agent())

    @property
    def keeper(self) -> str:
        """The ledger id of the registry that keeps the contract."""
        return self.pair.a.registry.settings.ledger_id

    async def propose(self, **terms: Any) -> httpx2.Response:
        body = {
            "provider_did": self.provider.did,
            "title": "Translate a page",
            "contract_type": "service",
            "amount": "10",
            "terms": "One page.",
            "acceptance_criteria": "It reads well.",
            **terms,
        }
        return await self._post(self.contractor, "", **body)

    async def at_home(self, act: str, contract_id: int, **body: Any) -> httpx2.Response:
        """The contractor acts at its own registry."""
        return await self._post(self.contractor, f"/{contract_id}/{act}", **body)

    async def abroad(self, act: str, contract_id: int, **body: Any) -> httpx2.Response:
        """The provider acts at its own registry, which relays."""
        named = {"contractor_registry": self.keeper, **body}
        return await self._post(self.provider, f"/{contract_id}/{act}", **named)

    async def proposed(self, **terms: Any) -> int:
        answer = await self.propose(**terms)
        assert answer.status_code == 201, answer.text
        number: int = answer.json()["id"]
        return number

    async def accepted(self, **terms: Any) -> int:
        contract_id = await self.proposed(**terms)
        answer = await self.abroad("accept-federated", contract_id)
        assert answer.status_code == 200, answer.text
        return contract_id

    async def submitted(self, **terms: Any) -> int:
        contract_id = await self.accepted(**terms)
        answer = await self.abroad("submit-federated", contract_id, deliverable=WORK)
        assert answer.status_code == 200, answer.text
        return contract_id

    async def submitted_after_payment(self) -> int:
        """A contract of 20 units, half of which was paid."""
        halves = [{"title": "First", "amount": "10"}, {"title": "Second", "amount": "10"}]
        contract_id = await self.submitted(amount="20", milestones=halves)
        paid = await self.at_home("approve-completion", contract_id)
        assert paid.status_code == 200, paid.text
        await settle(self.pair.a, self.pair.b)
        answer = await self.abroad("submit-federated", contract_id, deliverable=WORK)
        assert answer.status_code == 200, answer.text
        return contract_id

    async def receive(self, contractor: str, provider: str) -> None:
        """Another agent of each registry pays its party as much as that party lacks of these units."""
        for party, units in ((self.contractor, contractor), (self.provider, provider)):
            lacking = str(Decimal(units) - Decimal(await party.balance()))
            answer = await (await party.registry.agent()).transfer(party, lacking)
            assert answer.status_code == 200, answer.text

    async def read(self, contract_id: int) -> dict[str, Any]:
        answer = await self.contractor.registry.get(
            f"/contracts/{contract_id}", headers=self.contractor.headers
        )
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    async def read_abroad(self, contract_id: int, **query: str) -> httpx2.Response:
        return await self.provider.registry.get(
            f"/contracts/{contract_id}/federated",
            params={"contractor_registry": self.keeper, **query},
            headers=self.provider.headers,
        )

    async def balances(self) -> tuple[str, str]:
        return await self.contractor.balance(), await self.provider.balance()

    async def _post(
        self, agent: TestAgent, path: str, *, key: str | None = None, **body: Any
    ) -> httpx2.Response:
        headers = {**agent.headers, **({"Idempotency-Key": key} if key else {})}
        return await agent.registry.post(f"/contracts{path}", json=body, headers=headers)


def relayed(contract_id: int, act: str, actor: str, **more: Any) -> dict[str, Any]:
    """A body of the proxy route."""
    return {
        "request_id": str(uuid4()),
        "contract_id": contract_id,
        "act": act,
        "actor_did": actor,
        "body": {},
        **more,
    }


def in_days(days: float) -> str:
    return (datetime.now(UTC) + timedelta(days=days)).isoformat()
