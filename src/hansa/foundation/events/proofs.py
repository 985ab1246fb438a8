"""Facts of proofs, private to the agent: its attestations are public where they are read, and no stream of all of them is."""

from typing import ClassVar

from hansa.foundation.events.base import AgentEvent


class _AttestationEvent(AgentEvent, frozen=True):
    is_private: ClassVar[bool] = True

    attestation_id: str
    circuit_id: str


class AttestationVerified(_AttestationEvent, frozen=True):
    """A proof of an agent about itself was verified, for the first time or again; `context` names its subject, such as `contract:7`."""

    context: str | None
    expires_at: str


class AttestationRevoked(_AttestationEvent, frozen=True):
    """An attestation was revoked for good, by its holder or by an administrator (`developer:<id>`)."""

    revoked_by: str
