"""Administrators register and retire circuits. A verification key is judged before it is stored, and never replaced."""

from typing import Any

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.admin_acts import record_admin_act
from hansa.foundation.plumbing.web.caller import Developer

from . import rules, store
from .errors import CircuitExists, CircuitUnknown, KeyInvalid
from .records import Circuit, NewCircuit
from .worker import Verifier


async def require_usable(new: NewCircuit, administrator: Developer, verifier: Verifier) -> None:
    """Every point of the key is in its group, and the setup had a contribution. No transaction is open. Raises: KeyInvalid, ProofsWaiting, VerifierUnavailable."""
    rules.require_places(new)
    points = points_of(new.verification_key)
    rules.require_canonical_points(points, KeyInvalid, "verification_key")
    with verifier.place(administrator.id):
        refusal = await verifier.refusal_of({"key": points})
    if refusal is not None:
        raise KeyInvalid(f"The verification key is refused: {refusal}.", field="verification_key")


async def register(tx: Tx, administrator: Developer, new: NewCircuit) -> Circuit:
    """Register a circuit whose key was judged. Raises: CircuitExists, AreasWithheld."""
    await record_admin_act(tx, administrator, act="circuit.register", subject=new.circuit_id)
    circuit = await store.insert_circuit(tx, new, administrator.id)
    if circuit is None:
        raise CircuitExists
    return circuit


async def retire(tx: Tx, administrator: Developer, circuit_id: str) -> Circuit:
    """Accept no proof of a circuit any more; its attestations stay as they are. Again it changes nothing. Raises: CircuitUnknown, AreasWithheld."""
    retired = await store.retire(tx, circuit_id)
    if retired is not None:
        await record_admin_act(tx, administrator, act="circuit.retire", subject=circuit_id)
        return retired
    circuit = await store.find_circuit(tx, circuit_id)
    if circuit is None:
        raise CircuitUnknown
    return circuit


def points_of(key: dict[str, Any]) -> dict[str, Any]:
    """The points of a verification key."""
    return {name: points for name, points in key.items() if isinstance(points, list)}
