"""Witnessing over HTTP: cosign other logs, and show who cosigns this one."""

from typing import Any

from fastapi import APIRouter, Depends, Request, Response

from hansa.foundation.plumbing.bodies import GuardedRoute, read_within
from hansa.foundation.plumbing.caller import Public
from hansa.foundation.plumbing.limits import within_read_limit
from hansa.foundation.plumbing.problem_docs import problems
from hansa.foundation.plumbing.runtime import Config, Db, Sealing
from hansa.foundation.values.errors import PayloadTooLarge, TooManyRequests

from . import cosigning
from .asking import SIZE_TYPE, list_log_witnesses
from .errors import NotConsistent, NotSigned, OriginUnknown, SubmissionInvalid, WitnessKeySealed
from .schemas import LogWitnessesOut, WitnessOut
from .submission import BODY_MAX_BYTES, read_submission

FRESH = {"Access-Control-Allow-Origin": "*", "Cache-Control": "no-cache"}
TEXT: dict[str, Any] = {"content": {"text/plain": {"schema": {"type": "string"}}}}
STALE: dict[str, Any] = {
    "description": "The old size is not that of the checkpoint that was cosigned last, which the body names.",
    "content": {SIZE_TYPE: {"schema": {"type": "string"}}},
}
# The specification of the protocol names no media type; generators of clients know this one for bodies of bytes.
BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}

witness_router = APIRouter(
    tags=["auditor"], route_class=GuardedRoute, dependencies=[Depends(within_read_limit)]
)


@witness_router.post(
    "/witness/add-checkpoint",
    openapi_extra=BODY,
    response_class=Response,
    responses={
        200: {"description": "The line of the cosignature.", **TEXT},
        **problems(
            SubmissionInvalid,
            OriginUnknown,
            NotSigned,
            NotConsistent,
            PayloadTooLarge,
            TooManyRequests,
            WitnessKeySealed,
        ),
        409: STALE,
    },
)
async def cosign_checkpoint(_: Public, request: Request, db: Db, settings: Config, seal: Sealing) -> Response:
    """Cosign a checkpoint of another log (C2SP tlog-witness): old size, consistency proof, an empty line, checkpoint."""
    submission = read_submission(await read_within(request, BODY_MAX_BYTES))
    found = await db.act(lambda tx: cosigning.add_checkpoint(tx, settings, seal, submission))
    if isinstance(found, cosigning.Stale):
        return Response(f"{found.size}\n", 409, media_type=SIZE_TYPE)
    return Response(f"{found}\n", media_type="text/plain; charset=utf-8")


@witness_router.get("/witness", responses=problems(WitnessKeySealed, TooManyRequests))
async def read_witness(_: Public, response: Response, db: Db, settings: Config) -> WitnessOut:
    """The registry as a witness: its key, and the logs that it cosigns."""
    response.headers.update(FRESH)

    key, logs = await db.read(lambda tx: cosigning.read_witness(tx, settings.trust_domain))
    return WitnessOut.of(key, logs)


@witness_router.get("/log/witnesses", responses=problems(TooManyRequests))
async def read_log_witnesses(_: Public, response: Response, db: Db, settings: Config) -> LogWitnessesOut:
    """The witnesses that cosign the log of this registry, and what each cosigned last."""
    response.headers.update(FRESH)
    return LogWitnessesOut.of(await db.look(lambda tx: list_log_witnesses(tx, settings)))
