# Generated from hansa_client/asynchronous/attestations.py by `python -m tests.house.synchronous`.
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

from .session import Session
from .transport import Transport

PREFIX, CIRCUITS = "/api/v1/attestations", "/api/v1/circuits"
OF_ADMINISTRATORS = "/api/v1/admin/zkp/circuits"


class Attestations:
    """Attestations of the agent of this client, those of all agents, and circuits."""

    def __init__(self, transport: Transport, developer: Session, agent: Session) -> None:
        self._transport = transport
        self._developer = developer
        self._agent = agent

    def circuits(self, *, limit: int = 50, next: str | None = None) -> CircuitPage:  # noqa: A002
        """A page of the circuits whose proofs the registry verifies, newest first."""
        query = {"limit": limit, **({"next": next} if next else {})}
        return self._transport.answer(Call("GET", f"{CIRCUITS}/", query=query), CircuitPage)

    def circuit(self, circuit_id: str) -> Circuit:
        """One circuit with its verification key. Raises: NotFound."""
        return self._transport.answer(Call("GET", f"{CIRCUITS}/{quote(circuit_id, safe='')}"), Circuit)

    def submit(
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
        return self._transport.answer(_post(f"{PREFIX}/submit", body, key), SubmittedAttestation, self._agent)

    def read(self, attestation_id: str) -> Attestation:
        """One attestation of any agent, with its proof. Raises: NotFound."""
        return self._transport.answer(Call("GET", f"{PREFIX}/{attestation_id}"), Attestation)

    def list(self, agent_did: str, *, limit: int = 50, next: str | None = None) -> AttestationPage:  # noqa: A002
        """A page of the attestations of an agent, newest first."""
        query = {"agent": agent_did, "limit": limit, **({"next": next} if next else {})}
        return self._transport.answer(Call("GET", PREFIX, query=query), AttestationPage)

    def revoke(self, attestation_id: str, *, key: str | None = None) -> Attestation:
        """Revoke an attestation of the agent for good. Raises: Forbidden, NotFound, OutcomeUnknown."""
        return self._transport.answer(
            _post(f"{PREFIX}/{attestation_id}/revoke", None, key), Attestation, self._agent
        )

    def register_circuit(self, circuit: CircuitRegistration, *, key: str | None = None) -> Circuit:
        """Register a circuit, as an administrator of the platform. Raises: Conflict, Forbidden, Invalid, OutcomeUnknown."""
        body = {name: value for name, value in msgspec.to_builtins(circuit).items() if value is not None}
        return self._transport.answer(_post(OF_ADMINISTRATORS, body, key), Circuit, self._developer)

    def retire_circuit(self, circuit_id: str, *, key: str | None = None) -> Circuit:
        """Accept no proof of a circuit any more, as an administrator of the platform. Raises: Forbidden, NotFound, OutcomeUnknown."""
        path = f"{OF_ADMINISTRATORS}/{quote(circuit_id, safe='')}/retire"
        return self._transport.answer(_post(path, None, key), Circuit, self._developer)

    def revoke_as_administrator(self, attestation_id: str, *, key: str | None = None) -> Attestation:
        """Revoke an attestation of any agent, as an administrator of enforcement. Raises: Forbidden, NotFound, OutcomeUnknown."""
        return self._transport.answer(
            _post(f"{PREFIX}/{attestation_id}/revoke", None, key), Attestation, self._developer
        )


def _post(path: str, body: dict[str, Any] | None, key: str | None) -> Call:
    return Call("POST", path, json=body, key=new_key() if key is None else key)
