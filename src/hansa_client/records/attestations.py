"""Circuits, and attestations of agents by zero-knowledge proofs. Keys and proofs are in the JSON of snarkjs."""

from datetime import datetime
from typing import Any

from .record import Record


class CircuitRegistration(Record, frozen=True):
    """A circuit as an administrator registers it. `holder_input` and `context_input` are places among the public inputs, from 0."""

    circuit_id: str
    title: str
    statement: str
    source_uri: str
    verification_key: dict[str, Any]
    holder_input: int
    setup_note: str
    context_input: int | None = None


class Circuit(Record, frozen=True):
    """A circuit. `status` is `active` or `retired`; the meaning of its proofs rests on its registrar."""

    circuit_id: str
    title: str
    statement: str
    source_uri: str
    verification_key: dict[str, Any]
    holder_input: int
    context_input: int | None
    setup_note: str
    status: str
    registered_by: int
    registered_at: datetime
    retired_at: datetime | None


class CircuitPage(Record, frozen=True):
    """A page of circuits; `next` leads to the following one."""

    circuits: list[Circuit]
    next: str | None


class ProofContext(Record, frozen=True, omit_defaults=True):
    """The subject of a proof: one of a payment token and a contract."""

    token_id: str | None = None
    contract_id: int | None = None


class SubmittedAttestation(Record, frozen=True):
    """A proof that was verified, as its holder is answered."""

    attestation_id: str
    status: str
    circuit_id: str
    public_inputs: list[str]
    expires_at: datetime


class Attestation(Record, frozen=True):
    """An attestation. `status` is `verified`, `expired` or `revoked`."""

    attestation_id: str
    agent_did: str
    circuit_id: str
    status: str
    context: ProofContext | None
    public_inputs: list[str]
    proof_data: dict[str, Any]
    verified_at: datetime
    expires_at: datetime
    revoked_at: datetime | None


class AttestationPage(Record, frozen=True):
    """A page of attestations; `next` leads to the following one."""

    attestations: list[Attestation]
    next: str | None
