"""Contracts and disputes of a treasury over HTTP. Bodies and answers are those of agents."""

from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query
from fastapi.responses import Response

from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.bodies import BodyInvalid, GuardedRoute
from hansa.foundation.plumbing.web.caller import Developer, developer_holding
from hansa.foundation.plumbing.web.idempotency import KeyInProgress, KeyReused
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import Forbidden, Invalid, Refused, Unauthorized
from hansa.foundation.values.paging import Page, Pagination
from hansa.foundation.values.request_body import RequestBody
from hansa.rooms import commerce, ledger, organizations

from . import acts
from .acts import ContractAct, DisputeAct

PAGE_DEFAULT, PAGE_MAX = 50, 200
OFFSET_MAX = 2**31 - 1
BIGINT_MAX = 2**63 - 1

router = APIRouter(
    prefix="/organizations/{organization_id}", tags=["organizations"], route_class=GuardedRoute
)

Key = Annotated[str, Path(max_length=64)]
ContractId = Annotated[int, Path(ge=1, le=BIGINT_MAX)]
DisputeId = Annotated[int, Path(ge=1, le=BIGINT_MAX)]
ReadingDeveloper = Annotated[Developer, developer_holding("orgs:read")]
Limit = Annotated[int, Query(ge=1, le=PAGE_MAX)]
Offset = Annotated[int, Query(ge=0, le=OFFSET_MAX)]
RoleInContract = Annotated[Literal["contractor", "provider"] | None, Query()]
RoleInDispute = Annotated[Literal["complainant", "defendant"] | None, Query()]

_READING: tuple[type[Refused], ...] = (Unauthorized, organizations.OrganizationUnknown, Invalid)
_ACTING: tuple[type[Refused], ...] = (
    *_READING,
    organizations.OrganizationNotActive,
    organizations.OrgRoleRequired,
    KeyReused,
    KeyInProgress,
    BodyInvalid,
)
_EVERY_ACT: tuple[type[Refused], ...] = (*_ACTING, *commerce.CONTRACT_REFUSALS)


@router.get("/contracts", responses=problems(*_READING))
async def read_contracts_of_organization(
    organization_id: Key,
    developer: ReadingDeveloper,
    config: Config,
    db: Db,
    *,
    role: RoleInContract = None,
    status: Annotated[commerce.Status | None, Query()] = None,
    counterparty: Annotated[str | None, Query(max_length=512)] = None,
    limit: Limit = PAGE_DEFAULT,
    offset: Offset = 0,
) -> Page[commerce.ContractOut]:
    """The contracts of the treasury of an own organization, newest first."""
    wanted = commerce.ContractFilter(
        None, None, role, status, counterparty, is_open=False, limit=limit, offset=offset
    )
    items, total = await db.read(lambda tx: acts.contracts_of(tx, developer, organization_id, wanted, config))
    return Page[commerce.ContractOut](
        items=items, pagination=Pagination.of(total=total, limit=limit, offset=offset)
    )


@router.get("/disputes", responses=problems(*_READING))
async def read_disputes_of_organization(
    organization_id: Key,
    developer: ReadingDeveloper,
    db: Db,
    *,
    role: RoleInDispute = None,
    status: Annotated[commerce.DisputeStatus | None, Query()] = None,
    limit: Limit = PAGE_DEFAULT,
    offset: Offset = 0,
) -> Page[commerce.DisputeOut]:
    """The disputes of the treasury of an own organization, newest first."""
    wanted = commerce.DisputeFilter(None, None, role, status, limit, offset)
    found, total = await db.read(lambda tx: acts.disputes_of(tx, developer, organization_id, wanted))
    return Page[commerce.DisputeOut](
        items=[commerce.DisputeOut.of(one) for one in found],
        pagination=Pagination.of(total=total, limit=limit, offset=offset),
    )


@router.post(
    "/contracts/{contract_id}/cancel", response_model=commerce.ContractOut, responses=problems(*_EVERY_ACT)
)
async def cancel_contract_of_organization(
    organization_id: Key,
    contract_id: ContractId,
    sent: organizations.Sent,
    db: Db,
    body: commerce.ReasonIn | None = None,
) -> Response:
    """Withdraw a proposal of the treasury that is not accepted yet."""
    given = body or commerce.ReasonIn()
    act = acts.cancel(contract_id, given.reason)
    return await _on_contract(sent, db, organization_id, act, given)


@router.post(
    "/contracts/{contract_id}/request-changes",
    response_model=commerce.ContractOut,
    responses=problems(*_EVERY_ACT),
)
async def request_changes_as_organization(
    organization_id: Key,
    contract_id: ContractId,
    sent: organizations.Sent,
    db: Db,
    body: commerce.NoteIn | None = None,
) -> Response:
    """Return what was submitted to the provider."""
    given = body or commerce.NoteIn()
    act = acts.request_changes(contract_id, given.note)
    return await _on_contract(sent, db, organization_id, act, given)


@router.post(
    "/contracts/{contract_id}/approve-completion",
    response_model=commerce.ContractOut,
    responses=problems(
        *_EVERY_ACT,
        acts.PaymentNeedsRequest,
        commerce.MilestoneNotNext,
        commerce.TokenForFunded,
        ledger.AccountSuspended,
        ledger.HoldEnded,
        ledger.HoldExpired,
    ),
)
async def approve_completion_as_organization(
    organization_id: Key,
    contract_id: ContractId,
    sent: organizations.Sent,
    db: Db,
    body: commerce.ApprovalIn | None = None,
) -> Response:
    """Approve what was submitted; it is paid from the hold in the same commit."""
    given = body or commerce.ApprovalIn()
    approval = commerce.ContractApproval(given.milestone, payment_token=given.payment_token)
    act = acts.approve(contract_id, approval, sent.runtime)
    return await _on_contract(sent, db, organization_id, act, given)


@router.post(
    "/contracts/{contract_id}/mark-failed",
    response_model=commerce.ContractOut,
    responses=problems(*_EVERY_ACT),
)
async def mark_contract_of_organization_failed(
    organization_id: Key,
    contract_id: ContractId,
    sent: organizations.Sent,
    db: Db,
    body: commerce.ReasonIn | None = None,
) -> Response:
    """Declare that the contract has failed. After a submission, what is held stays so until the time for a dispute ends."""
    given = body or commerce.ReasonIn()
    act = acts.mark_failed(contract_id, given.reason, sent.runtime.settings)
    return await _on_contract(sent, db, organization_id, act, given)


@router.post(
    "/contracts/{contract_id}/dispute",
    status_code=201,
    response_model=commerce.DisputeOut,
    responses=problems(*_ACTING, acts.OtherSubject, *commerce.DISPUTE_REFUSALS, Forbidden),
)
async def dispute_contract_as_organization(
    organization_id: Key,
    contract_id: ContractId,
    body: commerce.DisputeIn,
    sent: organizations.Sent,
    db: Db,
) -> Response:
    """File a dispute about a contract of the treasury, which makes the deposit. `contract_id` in the body may be absent."""
    act = acts.dispute(contract_id, body, sent.runtime.settings)
    return await _on_dispute(sent, db, organization_id, act, body)


@router.post(
    "/disputes/{dispute_id}/evidence",
    status_code=201,
    response_model=commerce.DisputeOut,
    responses=problems(*_ACTING, commerce.DisputeUnknown, commerce.EvidenceClosed, commerce.TooMuchEvidence),
)
async def add_evidence_as_organization(
    organization_id: Key,
    dispute_id: DisputeId,
    body: commerce.EvidenceIn,
    sent: organizations.Sent,
    db: Db,
) -> Response:
    """Add evidence for the treasury, while the dispute is open."""
    return await _on_dispute(sent, db, organization_id, acts.add_evidence(dispute_id, body), body)


async def _on_contract(
    sent: organizations.Repeating, db: Db, key: str, act: ContractAct, body: RequestBody
) -> Response:
    async def done(tx: Tx) -> commerce.ContractOut:
        shown = await acts.as_treasury(tx, sent.developer, key, act)
        return commerce.ContractOut.of(shown, sent.runtime.settings.ledger_id)

    return await sent.answer(db, done, body)


async def _on_dispute(
    sent: organizations.Repeating, db: Db, key: str, act: DisputeAct, body: RequestBody
) -> Response:
    async def done(tx: Tx) -> commerce.DisputeOut:
        return commerce.DisputeOut.of(await acts.as_treasury(tx, sent.developer, key, act))

    return await sent.answer(db, done, body, status=201)
