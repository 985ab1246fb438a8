"""Circuits, attestations, and what a proof is judged by."""

from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec


class NewCircuit(msgspec.Struct, frozen=True):
    """A circuit as an administrator registers it. Positions count from 0."""

    circuit_id: str
    title: str
    statement: str
    source_uri: str
    verification_key: dict[str, Any]
    holder_input: int
    context_input: int | None
    setup_note: str


class Circuit(NewCircuit, frozen=True, kw_only=True):
    """A circuit of this registry; a retired one is kept, and its attestations stay as they are."""

    seq: int
    registered_by: int
    registered_at: datetime
    retired_at: datetime | None

    @property
    def inputs(self) -> int:
        """The number of public inputs."""
        return len(self.verification_key["IC"]) - 1


class Submission(msgspec.Struct, frozen=True):
    """A proof of an agent about itself. `context` is the subject that the inputs name, such as `contract:7`."""

    agent_did: str
    circuit_id: str
    proof: dict[str, Any]
    public_inputs: tuple[str, ...]
    context: str | None


class Attestation(msgspec.Struct, frozen=True):
    """A proof that was verified; `now` is the database's clock."""

    attestation_id: UUID
    seq: int
    circuit_id: str
    agent_did: str
    context: str | None
    public_inputs: tuple[str, ...]
    proof: dict[str, Any]
    verified_at: datetime
    expires_at: datetime
    revoked_at: datetime | None
    revoked_by: str | None
    now: datetime

    @property
    def status(self) -> str:
        """`verified`, `expired` or `revoked`."""
        if self.revoked_at is not None:
            return "revoked"
        return "verified" if self.now < self.expires_at else "expired"
