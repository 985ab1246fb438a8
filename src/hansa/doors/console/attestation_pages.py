"""Circuits and attestations of agents by zero-knowledge proofs: the lists, and each by itself."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse

from hansa.doors.console.rendering import page
from hansa.foundation.plumbing.process.runtime import Db
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Public
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.foundation.values.did import DID_MAX_CHARACTERS
from hansa.rooms import proofs

router = APIRouter(
    include_in_schema=False,
    default_response_class=HTMLResponse,
    route_class=LazyRoute,
    dependencies=[Depends(within_read_limit)],
)

SHOWN = 50
Before = Annotated[int | None, Query(ge=1, le=2**63 - 1)]
Did = Annotated[str, Query(max_length=DID_MAX_CHARACTERS)]


@router.get("/circuits")
async def show_circuits(_: Public, request: Request, db: Db, *, before: Before = None) -> HTMLResponse:
    """The circuits whose proofs this registry verifies, the newest first."""
    found = await db.read(lambda tx: proofs.list_circuits(tx, before, SHOWN + 1))
    following = found[SHOWN - 1].seq if len(found) > SHOWN else None
    return page(request, "attestations/circuits.html", circuits=found[:SHOWN], following=following)


@router.get("/circuits/{circuit_id}")
async def show_circuit(_: Public, circuit_id: proofs.CircuitInPath, request: Request, db: Db) -> HTMLResponse:
    """One circuit. Raises: CircuitUnknown."""
    circuit = await db.read(lambda tx: proofs.read_circuit(tx, circuit_id))
    return page(request, "attestations/circuit.html", circuit=circuit)


@router.get("/attestations")
async def show_attestations(
    _: Public, request: Request, db: Db, *, agent: Did = "", before: Before = None
) -> HTMLResponse:
    """The attestations of an agent, the newest first; without a DID a form that asks for one."""
    did = agent.strip()
    found = await db.read(lambda tx: proofs.attestations_of(tx, did, before, SHOWN + 1)) if did else []
    following = found[SHOWN - 1].seq if len(found) > SHOWN else None
    shown = found[:SHOWN]
    return page(request, "attestations/attestations.html", did=did, attestations=shown, following=following)


@router.get("/attestations/{attestation}")
async def show_attestation(_: Public, attestation: UUID, request: Request, db: Db) -> HTMLResponse:
    """One attestation with its circuit. Raises: AttestationUnknown."""

    async def read(tx: Tx) -> tuple[proofs.Attestation, proofs.Circuit]:
        found = await proofs.read_attestation(tx, attestation)
        return found, await proofs.read_circuit(tx, found.circuit_id)

    shown, circuit = await db.read(read)
    return page(request, "attestations/attestation.html", attestation=shown, circuit=circuit)
