"""Circuits and attestations over HTTP."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import Response

from hansa.foundation.plumbing.process.runtime import Config, Db, runtime_of
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.bodies import BodyInvalid, GuardedRoute
from hansa.foundation.plumbing.web.caller import (
    AdminNeeds2fa,
    CurrentAgent,
    DeveloperOrAgent,
    Public,
    admin_holding,
)
from hansa.foundation.plumbing.web.idempotency import (
    IdempotencyKey,
    KeyInProgress,
    KeyReused,
    answer_once,
    once,
    repeatable,
)
from hansa.foundation.plumbing.web.limits import WriteLimit, within_read_limit
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import Forbidden, Invalid, TooManyRequests, Unauthorized
from hansa.rooms import organizations

from . import errors
from .reading import attestations_of, list_circuits, read_attestation, read_circuit
from .registering import register, require_usable, retire
from .revoking import revoke
from .schemas import (
    AttestationIn,
    AttestationsQuery,
    AttestationSubmittedOut,
    CircuitIn,
    CircuitInPath,
    CircuitOut,
    CircuitsOut,
    CircuitsQuery,
    ProofAttestationOut,
    ProofAttestationsOut,
)
from .submitting import submit
from .worker import VERIFIER, Verifier

CREATED, REPEATED = 201, 200

circuits_router = APIRouter(prefix="/circuits", tags=["attestations"], route_class=GuardedRoute)
attestations_router = APIRouter(prefix="/attestations", tags=["attestations"], route_class=GuardedRoute)
admin_router = APIRouter(prefix="/admin/zkp/circuits", tags=["administrators"], route_class=GuardedRoute)

Verifying = Annotated[Verifier, Depends(VERIFIER.given)]
SentByPlatform = Annotated[organizations.Repeating, organizations.sent_by(admin_holding("admin_platform"))]
_READ_LIMITED = [Depends(within_read_limit)]
_WRITING = (Unauthorized, Forbidden, Invalid, BodyInvalid, KeyReused, KeyInProgress)


@admin_router.post(
    "",
    status_code=CREATED,
    response_model=CircuitOut,
    responses=problems(
        *_WRITING, errors.KeyInvalid, errors.CircuitExists, errors.ProofsWaiting, errors.VerifierUnavailable
    ),
)
async def register_circuit(body: CircuitIn, sent: SentByPlatform, db: Db, *, verifier: Verifying) -> Response:
    """Register a circuit. Its key is judged now and never replaced; what a proof of it means rests on its registrar."""
    new = body.new()
    await require_usable(new, sent.developer, verifier)

    async def registered(tx: Tx) -> CircuitOut:
        return CircuitOut.of(await register(tx, sent.developer, new))

    return await sent.answer(db, registered, body, status=CREATED)


@admin_router.post(
    "/{circuit_id}/retire",
    response_model=CircuitOut,
    responses=problems(*_WRITING, errors.CircuitUnknown),
)
async def retire_circuit(circuit_id: CircuitInPath, sent: SentByPlatform, db: Db) -> Response:
    """Accept no proof of a circuit any more. Its attestations stay valid until they end or are revoked."""

    async def retired(tx: Tx) -> CircuitOut:
        return CircuitOut.of(await retire(tx, sent.developer, circuit_id))

    return await sent.answer(db, retired)


@circuits_router.get("/", dependencies=_READ_LIMITED, responses=problems(Invalid, TooManyRequests))
async def read_circuits(_: Public, query: Annotated[CircuitsQuery, Query()], db: Db) -> CircuitsOut:
    """The circuits whose proofs this registry verifies, newest first; retired ones are among them."""
    found = await db.read(lambda tx: list_circuits(tx, query.before, query.limit + 1))
    return CircuitsOut.of(found, query.limit)


@circuits_router.get(
    "/{circuit_id}",
    dependencies=_READ_LIMITED,
    responses=problems(errors.CircuitUnknown, Invalid, TooManyRequests),
)
async def read_one_circuit(circuit_id: CircuitInPath, _: Public, db: Db) -> CircuitOut:
    """One circuit with its verification key, in the form that snarkjs reads."""
    return CircuitOut.of(await db.read(lambda tx: read_circuit(tx, circuit_id)))


@attestations_router.post(
    "/submit",
    status_code=CREATED,
    response_model=AttestationSubmittedOut,
    responses=problems(
        *_WRITING,
        TooManyRequests,
        errors.ProofsDisabled,
        errors.CircuitUnknown,
        errors.CircuitRetired,
        errors.InputsInvalid,
        errors.ProofInvalid,
        errors.AttestationWasRevoked,
        errors.SubmissionsTooMany,
        errors.ProofsWaiting,
        errors.VerifierUnavailable,
    ),
)
async def submit_proof(
    body: AttestationIn,
    agent: CurrentAgent,
    request: Request,
    *,
    writes: WriteLimit,
    key: IdempotencyKey = None,
) -> Response:
    """Submit a proof about the own agent: an attestation for 90 days. The same circuit and inputs again: 200, the same id, a new end."""
    await writes.admit(agent.did)
    sent = repeatable(agent, request, key, body)
    answer, is_repeated = await submit(
        runtime_of(request), body.submission(agent.did), agent.developer_id, sent
    )
    response = answer_once(answer.text, replayed=is_repeated)
    response.status_code = CREATED if answer.is_new else REPEATED
    return response


@attestations_router.get("", dependencies=_READ_LIMITED, responses=problems(Invalid, TooManyRequests))
async def read_attestations(
    _: Public, query: Annotated[AttestationsQuery, Query()], db: Db
) -> ProofAttestationsOut:
    """The attestations of an agent, newest first; ended and revoked ones are among them."""
    found = await db.read(lambda tx: attestations_of(tx, query.agent, query.before, query.limit + 1))
    return ProofAttestationsOut.of(found, query.limit)


@attestations_router.get(
    "/{attestation}",
    dependencies=_READ_LIMITED,
    responses=problems(errors.AttestationUnknown, Invalid, TooManyRequests),
)
async def read_one_attestation(attestation: UUID, _: Public, db: Db) -> ProofAttestationOut:
    """One attestation with its proof, which anybody verifies again with the key of its circuit."""
    return ProofAttestationOut.of(await db.read(lambda tx: read_attestation(tx, attestation)))


@attestations_router.post(
    "/{attestation}/revoke",
    response_model=ProofAttestationOut,
    responses=problems(*_WRITING, errors.AttestationUnknown, errors.NotTheHolder, AdminNeeds2fa),
)
async def revoke_attestation(
    attestation: UUID,
    caller: DeveloperOrAgent,
    request: Request,
    db: Db,
    *,
    config: Config,
    key: IdempotencyKey = None,
) -> Response:
    """Revoke an attestation for good: by its holder, or by an administrator of enforcement."""
    sent = repeatable(caller, request, key)

    async def revoked(tx: Tx) -> ProofAttestationOut:
        return ProofAttestationOut.of(await revoke(tx, caller, attestation, config))

    return await once(db, sent, revoked)
