"""Circuits and attestations: anyone reads them, the agent submits and revokes its own, administrators register circuits.

Each act is one intent: all its attempts carry one Idempotency-Key.
"""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

import msgspec

from hansa_client.calls import Call, new_key
from hansa_client.records.attestations import (
    Attestation,
    AttestationPage,
    Circuit,
    CircuitPage,
    CircuitRegistration,
    ProofContext,
    SubmittedAttestation,
)

from .session import AsyncSession
from .transport import AsyncTransport

PREFIX, CIRCUITS = "/api/v1/attestations", "/api/v1/circuits"
OF_ADMINISTRATORS = "/api/v1/admin/zkp/circuits"


class AsyncAttestations:
    """Attestations of the agent of this client, those of all agents, and circuits."""

    def __init__(self, transport: AsyncTransport, developer: AsyncSession, agent: AsyncSession) -> None:
        self._transport = transport
        self._developer = developer
        self._agent = agent

    async def circuits(self, *, limit: int = 50, next: str | None = None) -> CircuitPage:  # noqa: A002
        """A page of the circuits whose proofs the registry verifies, newest first."""
        query = {"limit": limit, **({"next": next} if next else {})}
        return await self._transport.answer(Call("GET", f"{CIRCUITS}/", query=query), CircuitPage)

    async def circuit(self, circuit_id: str) -> Circuit:
        """One circuit with its verification key. Raises: NotFound."""
        return await self._transport.answer(Call("GET", f"{CIRCUITS}/{quote(circuit_id, safe='')}"), Circuit)

    async def submit(
        self,
        circuit_id: str,
        proof_data: Mapping[str, Any],
        public_inputs: Sequence[str],
        *,
        context: ProofContext | None = None,
        key: str | None = None,
    ) -> SubmittedAttestation:
        """Submit a proof of the agent about itself, as snarkjs wrote it. Raises: Conflict, Forbidden, NotFound, Invalid, OutcomeUnknown."""
        body: dict[str, Any] = {
            "circuit_id": circuit_id,
            "proof_data": dict(proof_data),
            "public_inputs": list(public_inputs),
        }
        if context is not None:
            body["context"] = msgspec.to_builtins(context)
        return await self._transport.answer(
            _post(f"{PREFIX}/submit", body, key), SubmittedAttestation, self._agent
        )

    async def read(self, attestation_id: str) -> Attestation:
        """One attestation of any agent, with its proof. Raises: NotFound."""
        return await self._transport.answer(Call("GET", f"{PREFIX}/{attestation_id}"), Attestation)

    async def list(self, agent_did: str, *, limit: int = 50, next: str | None = None) -> AttestationPage:  # noqa: A002
        """A page of the attestations of an agent, newest first."""
        query = {"agent": agent_did, "limit": limit, **({"next": next} if next else {})}
        return await self._transport.answer(Call("GET", PREFIX, query=query), AttestationPage)

    async def revoke(self, attestation_id: str, *, key: str | None = None) -> Attestation:
        """Revoke an attestation of the agent for good. Raises: Forbidden, NotFound, OutcomeUnknown."""
        return await self._transport.answer(
            _post(f"{PREFIX}/{attestation_id}/revoke", None, key), Attestation, self._agent
        )

    async def register_circuit(self, circuit: CircuitRegistration, *, key: str | None = None) -> Circuit:
        """Register a circuit, as an administrator of the platform. Raises: Conflict, Forbidden, Invalid, OutcomeUnknown."""
        body = {name: value for name, value in msgspec.to_builtins(circuit).items() if value is not None}
        return await self._transport.answer(_post(OF_ADMINISTRATORS, body, key), Circuit, self._developer)

    async def retire_circuit(self, circuit_id: str, *, key: str | None = None) -> Circuit:
        """Accept no proof of a circuit any more, as an administrator of the platform. Raises: Forbidden, NotFound, OutcomeUnknown."""
        path = f"{OF_ADMINISTRATORS}/{quote(circuit_id, safe='')}/retire"
        return await self._transport.answer(_post(path, None, key), Circuit, self._developer)

    async def revoke_as_administrator(self, attestation_id: str, *, key: str | None = None) -> Attestation:
        """Revoke an attestation of any agent, as an administrator of enforcement. Raises: Forbidden, NotFound, OutcomeUnknown."""
        return await self._transport.answer(
            _post(f"{PREFIX}/{attestation_id}/revoke", None, key), Attestation, self._developer
        )


def _post(path: str, body: dict[str, Any] | None, key: str | None) -> Call:
    return Call("POST", path, json=body, key=new_key() if key is None else key)
