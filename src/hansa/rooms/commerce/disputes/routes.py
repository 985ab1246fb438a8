"""Disputes over HTTP."""

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Path, Query, Request
from fastapi.responses import Response

from hansa.foundation.plumbing.process.runtime import Config, Db, runtime_of
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.foundation.plumbing.web.bodies import BodyInvalid, GuardedRoute
from hansa.foundation.plumbing.web.caller import (
    CurrentAgent,
    Developer,
    DeveloperOrAgent,
    admin_holding,
)
from hansa.foundation.plumbing.web.idempotency import (
    IdempotencyKey,
    KeyInProgress,
    KeyReused,
    Repeatable,
    once,
)
from hansa.foundation.plumbing.web.limits import WriteLimit
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import Forbidden, Invalid, Refused, TooManyRequests, Unauthorized
from hansa.foundation.values.paging import Page, Pagination
from hansa.foundation.values.request_body import RequestBody
from hansa.rooms import agents, federation, ledger, transfers
from hansa.rooms.commerce import contracts
from hansa.rooms.commerce.bonds import SLASH_BOND, SlashBond

from . import errors
from .bundle import proposal_for, signed_bundle
from .deciding import Ordered, open_voting, rule
from .dispute import DisputeFilter, DisputeStatus
from .filing import add_evidence, file, file_malpractice
from .reading import list_disputes, read_dispute, reader_of
from .schemas import (
    BIGINT_MAX,
    BundleOut,
    DisputeIn,
    DisputeOut,
    EvidenceIn,
    MalpracticeIn,
    MalpracticeOut,
    RulingIn,
)

PAGE_DEFAULT = 50
PAGE_MAX = 200
OFFSET_MAX = 2**31 - 1

router = APIRouter(prefix="/disputes", tags=["disputes"], route_class=GuardedRoute)
malpractice_router = APIRouter(prefix="/contracts", tags=["disputes"], route_class=GuardedRoute)
admin_router = APIRouter(prefix="/admin/disputes", tags=["administrators"], route_class=GuardedRoute)

DisputeId = Annotated[int, Path(ge=1, le=BIGINT_MAX)]
Administrator = Annotated[Developer, admin_holding("admin_enforcement")]
Limit = Annotated[int, Query(ge=1, le=PAGE_MAX)]
Offset = Annotated[int, Query(ge=0, le=OFFSET_MAX)]
Role = Annotated[Literal["complainant", "defendant"] | None, Query()]
StatusWanted = Annotated[DisputeStatus | None, Query(alias="status")]
AgentDid = Annotated[str, Path(max_length=512)]
Signing = Annotated[federation.Signatory, Depends(federation.SIGNATORY.given)]
BondSlasher = Annotated[SlashBond, Depends(SLASH_BOND.given)]

_EVERY_WRITE: tuple[type[Refused], ...] = (
    Unauthorized,
    Forbidden,
    Invalid,
    BodyInvalid,
    KeyReused,
    KeyInProgress,
    TooManyRequests,
)
DISPUTE_REFUSALS: tuple[type[Refused], ...] = (
    contracts.ContractUnknown,
    contracts.WrongState,
    contracts.DeadlinePassed,
    errors.NothingSubmitted,
    errors.TooLate,
    errors.DisputeExists,
    errors.TooManyDisputes,
    errors.DepositUncovered,
)
"""Refusals of a dispute about a contract."""


@router.post(
    "/",
    status_code=201,
    response_model=DisputeOut,
    responses=problems(
        *_EVERY_WRITE,
        *DISPUTE_REFUSALS,
        errors.SelfDispute,
        errors.CitedUnknown,
        errors.PayerOnly,
        errors.DefendantUnknown,
        federation.FrameUnavailable,
        errors.PaymentUnknown,
        errors.NotAParty,
        errors.PaymentNotEnded,
    ),
)
async def file_dispute(
    body: DisputeIn,
    agent: CurrentAgent,
    request: Request,
    *,
    writes: WriteLimit,
    key: IdempotencyKey = None,
) -> Response:
    """File a dispute against another agent. One about a contract stops its deadlines and freezes what it holds."""
    await writes.admit(agent.did)
    complaint, runtime = body.filed_by(agent.did), runtime_of(request)

    async def filed(tx: Tx) -> DisputeOut:
        return DisputeOut.of(await file(tx, complaint, runtime.settings))

    repeatable = _repeatable(agent.did, "/disputes/", key, body)
    try:
        answer = await once(runtime.database, repeatable, filed)
    except errors.DefendantUnknown:
        # Within one trust domain the DID does not say at which registry the agent is.
        if not await transfers.is_elsewhere(runtime, body.defendant_did):
            raise
        answer = await once(runtime.database, repeatable, filed)
    answer.status_code = 201
    return answer


@malpractice_router.post(
    "/malpractice",
    status_code=201,
    response_model=MalpracticeOut,
    responses=problems(*_EVERY_WRITE, *DISPUTE_REFUSALS),
)
async def file_malpractice_record(
    body: MalpracticeIn,
    agent: CurrentAgent,
    config: Config,
    db: Db,
    *,
    writes: WriteLimit,
    key: IdempotencyKey = None,
) -> Response:
    """Record malpractice of the other party of a contract; it opens a dispute about the contract."""
    await writes.admit(agent.did)
    record = body.record()

    async def filed(tx: Tx) -> MalpracticeOut:
        return MalpracticeOut.of(await file_malpractice(tx, agent, record, config))

    answer = await once(db, _repeatable(agent.did, "/contracts/malpractice", key, body), filed)
    answer.status_code = 201
    return answer


@router.post(
    "/{dispute_id}/evidence",
    status_code=201,
    response_model=DisputeOut,
    responses=problems(
        *_EVERY_WRITE,
        errors.DisputeUnknown,
        errors.EvidenceClosed,
        errors.TooMuchEvidence,
        errors.CitedUnknown,
        errors.AttestationsTooMany,
    ),
)
async def add_evidence_to_dispute(
    dispute_id: DisputeId,
    body: EvidenceIn,
    agent: CurrentAgent,
    db: Db,
    *,
    writes: WriteLimit,
    key: IdempotencyKey = None,
) -> Response:
    """Add evidence as a party, while the dispute is open: a piece by its digest, attestations of this registry, or both."""
    await writes.admit(agent.did)

    async def added(tx: Tx) -> DisputeOut:
        return DisputeOut.of(await add_evidence(tx, agent, dispute_id, body.given()))

    answer = await once(db, _repeatable(agent.did, f"/disputes/{dispute_id}/evidence", key, body), added)
    answer.status_code = 201
    return answer


@router.get("/", responses=problems(Unauthorized, Forbidden, Invalid))
async def list_own_disputes(
    caller: DeveloperOrAgent,
    db: Db,
    *,
    role: Role = None,
    status: StatusWanted = None,
    limit: Limit = PAGE_DEFAULT,
    offset: Offset = 0,
) -> Page[DisputeOut]:
    """The asking agent's disputes, newest first; an administrator of enforcement reads all."""
    reader = reader_of(caller)
    return await _page(db, DisputeFilter(reader, reader, role, status, limit, offset))


@router.get("/agent/{agent_did}", responses=problems(Unauthorized, Forbidden, Invalid))
async def list_disputes_of_agent(
    agent_did: AgentDid,
    caller: DeveloperOrAgent,
    db: Db,
    *,
    role: Role = None,
    status: StatusWanted = None,
    limit: Limit = PAGE_DEFAULT,
    offset: Offset = 0,
) -> Page[DisputeOut]:
    """The disputes of an agent that the caller may read, newest first."""
    return await _page(db, DisputeFilter(agent_did, reader_of(caller), role, status, limit, offset))


@router.get("/{dispute_id}", responses=problems(Unauthorized, Forbidden, errors.DisputeUnknown, Invalid))
async def read_one_dispute(
    dispute_id: DisputeId, caller: DeveloperOrAgent, config: Config, db: Db
) -> DisputeOut:
    """One dispute with its evidence, for its parties and administrators of enforcement."""

    async def read(tx: Tx) -> DisputeOut:
        dispute = await read_dispute(tx, caller, dispute_id)
        is_party = reader_of(caller) is not None
        return DisputeOut.of(dispute, None if is_party else await proposal_for(tx, dispute, config))

    return await db.read(read)


@router.get(
    "/{dispute_id}/bundle",
    responses=problems(Unauthorized, Forbidden, errors.DisputeUnknown, Invalid, federation.KeyDoesNotOpen),
)
async def read_bundle_of_dispute(
    dispute_id: DisputeId, caller: DeveloperOrAgent, signatory: Signing, config: Config, db: Db
) -> BundleOut:
    """The facts of a dispute, signed by the registry, and what they come to; anybody can compute that again."""
    dispute = await db.read(lambda tx: read_dispute(tx, caller, dispute_id))
    return BundleOut.model_validate(await signed_bundle(db, signatory, dispute, config))


@admin_router.put(
    "/{dispute_id}/open-voting",
    responses=problems(Unauthorized, agents.AgentOfCaller, errors.DisputeUnknown, errors.WrongState, Invalid),
)
async def open_voting_on_dispute(dispute_id: DisputeId, administrator: Administrator, db: Db) -> DisputeOut:
    """End the time for evidence."""
    return DisputeOut.of(await db.transaction(lambda tx: open_voting(tx, administrator, dispute_id)))


@admin_router.put(
    "/{dispute_id}/ruling",
    responses=problems(
        Unauthorized,
        agents.AgentOfCaller,
        errors.DisputeUnknown,
        errors.WrongState,
        errors.RulingTooLate,
        errors.RulingDiffers,
        errors.RulingInvalid,
        errors.ReasonMissing,
        ledger.IssuanceRefused,
        ledger.MintTooLarge,
        ledger.SupplyExhausted,
        Invalid,
        BodyInvalid,
    ),
)
async def rule_on_dispute(
    dispute_id: DisputeId,
    body: RulingIn,
    administrator: Administrator,
    config: Config,
    db: Db,
    *,
    slash_bond: BondSlasher,
) -> DisputeOut:
    """Rule. Units, contract and dispute change in one transaction; the same ruling again changes nothing."""
    ordered = Ordered(dispute_id, body.decision())
    ruled = await db.transaction(lambda tx: rule(tx, administrator, ordered, slash_bond, config))
    return DisputeOut.of(ruled)


async def _page(db: Database, filters: DisputeFilter) -> Page[DisputeOut]:
    found, total = await db.read(lambda tx: list_disputes(tx, filters))
    return Page[DisputeOut](
        items=[DisputeOut.of(one) for one in found],
        pagination=Pagination.of(total=total, limit=filters.limit, offset=filters.offset),
    )


def _repeatable(did: str, route: str, key: str | None, body: RequestBody) -> Repeatable | None:
    return Repeatable(did, route, key, body.model_dump(mode="json")) if key else None
