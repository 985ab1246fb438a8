"""Proofs: circuits of this registry, and attestations of agents by zero-knowledge proofs."""

from hansa.rooms.proofs.descriptor import ROOM
from hansa.rooms.proofs.errors import AttestationUnknown, CircuitUnknown
from hansa.rooms.proofs.reading import (
    attestations_of,
    cited_attestations,
    list_circuits,
    read_attestation,
    read_circuit,
)
from hansa.rooms.proofs.records import Attestation, Circuit
from hansa.rooms.proofs.registering import register, require_usable, retire
from hansa.rooms.proofs.revoking import revoke
from hansa.rooms.proofs.rules import REDUCING
from hansa.rooms.proofs.schemas import CircuitIn, CircuitInPath
from hansa.rooms.proofs.worker import VERIFIER

__all__ = [
    "REDUCING",
    "ROOM",
    "VERIFIER",
    "Attestation",
    "AttestationUnknown",
    "Circuit",
    "CircuitIn",
    "CircuitInPath",
    "CircuitUnknown",
    "attestations_of",
    "cited_attestations",
    "list_circuits",
    "read_attestation",
    "read_circuit",
    "register",
    "require_usable",
    "retire",
    "revoke",
]
