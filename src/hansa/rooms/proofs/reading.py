"""Circuits and attestations, which everybody reads."""

from collections.abc import Sequence
from uuid import UUID

from hansa.foundation.plumbing.storage.database import Tx

from . import store
from .errors import AttestationUnknown, CircuitUnknown
from .records import Attestation, Circuit


async def list_circuits(tx: Tx, before: int | None, limit: int) -> list[Circuit]:
    """A page of circuits, the newest first; retired ones are among them."""
    return await store.circuits(tx, before, limit)


async def read_circuit(tx: Tx, circuit_id: str) -> Circuit:
    """One circuit. Raises: CircuitUnknown."""
    circuit = await store.find_circuit(tx, circuit_id)
    if circuit is None:
        raise CircuitUnknown
    return circuit


async def read_attestation(tx: Tx, attestation_id: UUID) -> Attestation:
    """One attestation. Raises: AttestationUnknown."""
    attestation = await store.find(tx, attestation_id)
    if attestation is None:
        raise AttestationUnknown
    return attestation


async def attestations_of(tx: Tx, did: str, before: int | None, limit: int) -> list[Attestation]:
    """A page of the attestations of an agent, the newest first."""
    return await store.page(tx, did, before, limit)


async def cited_attestations(
    tx: Tx, attestation_ids: Sequence[str], *, share: bool = False
) -> list[Attestation]:
    """Those attestations that have one of these ids, in their order. A shared one is revoked or renewed after the transaction only."""
    ids = {text: found for text in attestation_ids if (found := _id_of(text)) is not None}
    cited = {one.attestation_id: one for one in await store.cited(tx, list(ids.values()), share=share)}
    return [cited[one] for one in dict.fromkeys(ids.values()) if one in cited]


def _id_of(text: str) -> UUID | None:
    try:
        found = UUID(text)
    except ValueError:
        return None
    return found if str(found) == text else None
