"""Witnessing over HTTP: cosign other logs, and show who cosigns this one."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response

from hansa.foundation.plumbing.process.runtime import Config, Db, runtime_of
from hansa.foundation.plumbing.web.bodies import GuardedRoute, read_within
from hansa.foundation.plumbing.web.caller import Public
from hansa.foundation.plumbing.web.direct import DirectRoute
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import Invalid, PayloadTooLarge, TooManyRequests

from . import cosigning
from .asking import SIZE_TYPE, list_log_witnesses, own_policy
from .errors import (
    NotConsistent,
    NothingCosigned,
    NotSigned,
    OriginUnknown,
    SubmissionInvalid,
    WitnessKeySealed,
)
from .peer_logs import list_forks, seen_checkpoint
from .schemas import LogForksOut, LogWitnessesOut, WitnessOut
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

Origin = Annotated[str, Query(min_length=1, max_length=255, examples=["peer.example.org/log"])]

witness_router = APIRouter(
    tags=["auditor"], route_class=GuardedRoute, dependencies=[Depends(within_read_limit)]
)
# What each peer asks for every minute.
cosigning_router = APIRouter(
    tags=["auditor"], route_class=DirectRoute, dependencies=[Depends(within_read_limit)]
)


@cosigning_router.post(
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
async def cosign_checkpoint(_: Public, request: Request) -> Response:
    """Cosign a checkpoint of another log (C2SP tlog-witness): old size, consistency proof, an empty line, checkpoint."""
    submission = read_submission(await read_within(request, BODY_MAX_BYTES))
    found = await cosigning.add_checkpoint(runtime_of(request), submission)
    if isinstance(found, cosigning.Stale):
        return Response(f"{found.size}\n", 409, media_type=SIZE_TYPE)
    if isinstance(found, cosigning.Forked):
        raise NotConsistent("The log signed another tree of this size before.")
    return Response(f"{found}\n", media_type="text/plain; charset=utf-8")


@cosigning_router.get(
    "/witness", response_model=WitnessOut, responses=problems(WitnessKeySealed, TooManyRequests)
)
async def read_witness(_: Public, db: Db, settings: Config) -> Response:
    """The registry as a witness: its key, and the logs that it cosigns."""
    key, logs = await db.query(lambda tx: cosigning.read_witness(tx, settings.ledger_id))
    return Response(WitnessOut.of(key, logs).model_dump_json(), media_type="application/json", headers=FRESH)


@witness_router.get("/log/witnesses", responses=problems(TooManyRequests))
async def read_log_witnesses(_: Public, response: Response, db: Db, settings: Config) -> LogWitnessesOut:
    """The witnesses that cosign the log of this registry, and what each cosigned last."""
    response.headers.update(FRESH)
    return LogWitnessesOut.of(await db.query(lambda tx: list_log_witnesses(tx, settings)))


@witness_router.get(
    "/witness/checkpoint",
    response_class=Response,
    responses={
        200: {"description": "The checkpoint, a signed note.", **TEXT},
        **problems(Invalid, NothingCosigned, TooManyRequests),
    },
)
async def read_cosigned_checkpoint(_: Public, db: Db, origin: Origin) -> Response:
    """The checkpoint of another log that was cosigned last, with the log's signature, as it was shown to this registry."""
    found = await db.query(lambda tx: seen_checkpoint(tx, origin))
    if found is None:
        raise NothingCosigned
    return Response(found.note, media_type="text/plain; charset=utf-8", headers=FRESH)


@witness_router.get("/log/forks", responses=problems(TooManyRequests))
async def read_log_forks(_: Public, response: Response, db: Db, settings: Config) -> LogForksOut:
    """The logs of others that have forked, with both copies as evidence."""
    response.headers.update(FRESH)
    return LogForksOut.of(await db.query(list_forks), settings.ledger_id)


@witness_router.get(
    "/log/policy",
    response_class=Response,
    responses={200: {"description": "The policy (C2SP tlog-policy).", **TEXT}, **problems(TooManyRequests)},
)
async def read_log_policy(_: Public, db: Db, settings: Config) -> Response:
    """The key of the log, its witnesses, and how many of them have to cosign, as text (C2SP tlog-policy)."""
    text = await db.read(lambda tx: own_policy(tx, settings))
    return Response(text, media_type="text/plain; charset=utf-8", headers=FRESH)
