"""Circuits and attestations for tests: a registry that verifies proofs, with its administrators."""

from dataclasses import dataclass
from itertools import count
from typing import Any

import httpx2

from tests.proving import Setup, signal
from tests.registry import TestAgent, TestDeveloper, TestRegistry

BOUND, ALONE = Setup(1, 3), Setup(2, 2)
"""Setups of circuits: inputs are the holder, a context and a value; or the holder and a value."""
_numbers = count(1)


@dataclass(frozen=True)
class Attesting:
    """The routes of circuits and attestations."""

    registry: TestRegistry
    platform: TestDeveloper
    enforcement: TestDeveloper

    @classmethod
    async def at(cls, registry: TestRegistry) -> "Attesting":
        """The administrators of a registry whose ZKP_PHASES are on."""
        areas = [await registry.administrator(area) for area in ("admin_platform", "admin_enforcement")]
        return cls(registry, *areas)

    async def try_register(self, setup: Setup, **members: Any) -> httpx2.Response:
        body = {
            "circuit_id": f"circuit-{next(_numbers)}",
            "title": "Two factors",
            "statement": "The holder knows two factors of the value.",
            "source_uri": "https://circuits.example.org/factors.circom",
            "verification_key": setup.key,
            "holder_input": 0,
            "context_input": 1 if setup.inputs == BOUND.inputs else None,
            "setup_note": "Made for tests by one contributor.",
            **members,
        }
        return await self.registry.post("/admin/zkp/circuits", json=body, headers=self.platform.headers)

    async def circuit(self, setup: Setup = BOUND, **members: Any) -> str:
        """The id of a new circuit."""
        answer = await self.try_register(setup, **members)
        assert answer.status_code == 201, answer.text
        circuit_id: str = answer.json()["circuit_id"]
        return circuit_id

    async def try_submit(
        self, agent: TestAgent, circuit_id: str, *, key: str | None = None, **members: Any
    ) -> httpx2.Response:
        headers = {**agent.headers, **({"Idempotency-Key": key} if key else {})}
        body = {"circuit_id": circuit_id, **members}
        return await self.registry.post("/attestations/submit", json=body, headers=headers)

    async def attest(self, agent: TestAgent, circuit_id: str, context: dict[str, Any] | None) -> str:
        """The id of an attestation of the agent by a circuit, about a token, a contract or nothing."""
        answer = await self.try_submit(agent, circuit_id, **proof_of(agent, context))
        assert answer.status_code in {200, 201}, answer.text
        attestation_id: str = answer.json()["attestation_id"]
        return attestation_id

    async def read(self, attestation_id: str) -> Any:
        answer = await self.registry.get(f"/attestations/{attestation_id}")
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def revoke(self, attestation_id: str, by: TestAgent | TestDeveloper) -> httpx2.Response:
        return await self.registry.post(f"/attestations/{attestation_id}/revoke", json={}, headers=by.headers)


def inputs_of(agent: TestAgent, context: dict[str, Any] | None, value: str = "15") -> list[str]:
    """The public inputs of a proof of an agent."""
    if context is None:
        return [signal(agent.did), value]
    ((kind, number),) = context.items()
    return [signal(agent.did), signal(f"{kind.removesuffix('_id')}:{number}"), value]


def proof_of(
    agent: TestAgent, context: dict[str, Any] | None, value: str = "15", *, seed: int = 1
) -> dict[str, Any]:
    """The members of a submission that holds."""
    inputs = inputs_of(agent, context, value)
    setup = ALONE if context is None else BOUND
    members = {"proof_data": setup.prove(inputs, seed=seed), "public_inputs": inputs}
    return members if context is None else {**members, "context": context}
