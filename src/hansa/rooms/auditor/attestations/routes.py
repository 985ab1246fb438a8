"""The chain of attestations over HTTP. Anyone may read it, also from the pages of other hosts."""

import re
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Response

from hansa.foundation.plumbing.process.runtime import Config, Db, Sealing
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.bodies import BodyInvalid, GuardedRoute
from hansa.foundation.plumbing.web.caller import Developer, Public, admin_holding
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import Invalid, TooManyRequests, Unauthorized
from hansa.foundation.values.money import parse_positive

from . import appending, keys, reading
from .appending import Attestor
from .errors import (
    AttestationUnknown,
    AuditorKeyMissing,
    AuditorKeySealed,
    BaselineRefused,
    NoNativeBaseline,
    NotAuditedYet,
)
from .schemas import (
    FRAME_MAX_CHARACTERS,
    AttestationHead,
    AttestationOut,
    AttestationsOut,
    AuditorJwk,
    AuditorJwks,
    AuditorKeyRotationIn,
    NativeBaselineIn,
    TransitBaselineIn,
)

ID_MAX = 2**63 - 1
_NUMBER = re.compile(r"[0-9]{1,19}", re.ASCII)
PAGE_MAX = 200
PAGE = 50
CACHED = "public, max-age=300, stale-while-revalidate=600"


async def _for_any_origin(response: Response) -> None:
    response.headers.update(reading.ANY_ORIGIN)


root_router = APIRouter(
    tags=["auditor"],
    route_class=GuardedRoute,
    dependencies=[Depends(within_read_limit), Depends(_for_any_origin)],
)
admin_router = APIRouter(tags=["administrators"], route_class=GuardedRoute)

TreasuryAdministrator = Annotated[Developer, admin_holding("admin_treasury")]
PlatformAdministrator = Annotated[Developer, admin_holding("admin_platform")]
Frame = Annotated[
    str | None,
    Query(min_length=1, max_length=FRAME_MAX_CHARACTERS, description="Default: the frame of this registry."),
]


@root_router.get(
    "/.well-known/auditor-jwks.json",
    response_model_exclude_none=True,
    responses=problems(AuditorKeyMissing, TooManyRequests),
)
async def read_auditor_jwks(_: Public, response: Response, db: Db) -> AuditorJwks:
    """The keys that verify attestations: the current one, and every retired one."""
    response.headers["Cache-Control"] = CACHED
    return AuditorJwks.of(await db.query(reading.published_keys))


@root_router.get("/api/auditor/attestations", responses=problems(Invalid, TooManyRequests))
async def list_attestations(
    _: Public,
    db: Db,
    settings: Config,
    frame: Frame = None,
    limit: Annotated[int, Query(ge=1, le=PAGE_MAX)] = PAGE,
    before_id: Annotated[
        int | None, Query(ge=1, le=ID_MAX, description="Only records with a smaller id.")
    ] = None,
) -> AttestationsOut:
    """Supply attestations, newest first."""
    asked = frame or settings.ledger_id

    async def read(tx: Tx) -> AttestationsOut:
        records = await reading.list_attestations(tx, asked, before_id, limit)
        proofs = await reading.prove_records(tx, records)
        return AttestationsOut.of(records, proofs, await reading.list_keys(tx))

    return await db.read_replicated(read)


@root_router.get(
    "/api/auditor/attestations/head", responses=problems(AttestationUnknown, Invalid, TooManyRequests)
)
async def read_attestation_head(
    _: Public, response: Response, db: Db, settings: Config, frame: Frame = None
) -> AttestationHead:
    """The newest attestation."""
    asked = frame or settings.ledger_id
    response.headers["Cache-Control"] = "no-cache"
    return AttestationHead.of(await db.read_replicated(lambda tx: reading.read_head(tx, asked)))


@root_router.get(
    "/api/auditor/attestations/{attestation_id}",
    responses=problems(AttestationUnknown, TooManyRequests),
)
async def read_attestation(
    _: Public,
    db: Db,
    attestation_id: Annotated[str, Path(description="The id, a positive integer.", examples=["4711"])],
) -> AttestationOut:
    """One attestation; 404 also where the id is no positive integer."""
    number = int(attestation_id) if _NUMBER.fullmatch(attestation_id) else 0
    if not 0 < number <= ID_MAX:
        raise AttestationUnknown

    async def read(tx: Tx) -> AttestationOut:
        record = await reading.read_attestation(tx, number)
        return AttestationOut.of(record, (await reading.prove_records(tx, [record])).get(str(record.id)))

    return await db.read_replicated(read)


@admin_router.post(
    "/admin/set-native-baseline",
    responses=problems(
        Unauthorized,
        NoNativeBaseline,
        BaselineRefused,
        Invalid,
        BodyInvalid,
        AuditorKeySealed,
    ),
)
async def set_native_baseline(
    body: NativeBaselineIn, administrator: TreasuryAdministrator, db: Db, settings: Config, seal: Sealing
) -> AttestationOut:
    """Set or remove the native baseline; the act is a record of the chain."""
    baseline = None if body.baseline is None else parse_positive(body.baseline)
    attestor = Attestor.of(settings, seal)
    record = await db.transaction(
        lambda tx: appending.set_native_baseline(tx, administrator, attestor, baseline=baseline, ref=body.ref)
    )
    return AttestationOut.of(record)


@admin_router.post(
    "/admin/rebaseline-transit",
    responses=problems(Unauthorized, NotAuditedYet, Invalid, BodyInvalid, AuditorKeySealed),
)
async def rebaseline_transit(
    body: TransitBaselineIn, administrator: TreasuryAdministrator, db: Db, settings: Config, seal: Sealing
) -> AttestationOut:
    """Take the units in transit at the last audit cycle as reconciled; the act is a record of the chain."""
    attestor = Attestor.of(settings, seal)
    record = await db.transaction(
        lambda tx: appending.rebaseline_transit(tx, administrator, attestor, ref=body.ref)
    )
    return AttestationOut.of(record)


@admin_router.post(
    "/admin/auditor-signing-key/rotate",
    response_model_exclude_none=True,
    responses=problems(Unauthorized, Invalid, BodyInvalid),
)
async def rotate_auditor_signing_key(
    administrator: PlatformAdministrator,
    db: Db,
    settings: Config,
    seal: Sealing,
    body: AuditorKeyRotationIn | None = None,
) -> AuditorJwk:
    """Sign attestations with a new key from the next record on. The former key stays in the key set."""
    reason = body.reason if body else None
    frame = settings.ledger_id
    key = await db.transaction(
        lambda tx: keys.rotate_as_administrator(tx, administrator, frame, seal, reason=reason)
    )
    return AuditorJwk.of(key)
