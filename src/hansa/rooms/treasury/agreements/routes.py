"""Contracts and disputes of a treasury over HTTP. Bodies and answers are those of agents."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Literal

import msgspec
from fastapi import APIRouter, Depends, Path, Query
from fastapi.responses import Response

from hansa.foundation.plumbing.process.runtime import Config, Db, Runtime
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.foundation.plumbing.web.bodies import BodyInvalid, GuardedRoute
from hansa.foundation.plumbing.web.caller import Agent, Developer, developer_holding
from hansa.foundation.plumbing.web.idempotency import KeyInProgress, KeyReused
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import Forbidden, Invalid, Refused, Unauthorized
from hansa.foundation.values.paging import Page, Pagination
from hansa.foundation.values.request_body import RequestBody
from hansa.rooms import commerce, ledger, organizations

from . import acts

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


class TreasuryActs(msgspec.Struct, frozen=True):
    """Request of an admin for an act of the treasury, which is carried out once under its key."""

    sent: organizations.Repeating
    database: Database
    organization: str

    @property
    def runtime(self) -> Runtime:
        """The process that serves the request."""
        return self.sent.runtime

    async def on_contract(
        self,
        contract_id: int,
        act: str,
        carry_out: Callable[[Tx, Agent], Awaitable[commerce.ContractShown]],
        body: RequestBody,
    ) -> Response:
        """Carry out an act on a contract of the treasury. Raises: the errors of `as_treasury`."""

        async def done(tx: Tx) -> commerce.ContractOut:
            shown = await acts.as_treasury(
                tx,
                self.sent.developer,
                self.organization,
                carry_out,
                act=f"contract.{act}",
                target=f"contract:{contract_id}",
            )
            return commerce.ContractOut.of(shown, self.runtime.settings.ledger_id)

        return await self.sent.answer(self.database, done, body)

    async def on_dispute(
        self,
        act: str,
        target: str,
        carry_out: Callable[[Tx, Agent], Awaitable[commerce.Dispute]],
        body: RequestBody,
    ) -> Response:
        """File a dispute of the treasury, or add to one. Raises: the errors of `as_treasury`."""

        async def done(tx: Tx) -> commerce.DisputeOut:
            return commerce.DisputeOut.of(
                await acts.as_treasury(
                    tx, self.sent.developer, self.organization, carry_out, act=act, target=target
                )
            )

        return await self.sent.answer(self.database, done, body, status=201)


async def treasury_acts(organization_id: Key, sent: organizations.Sent, db: Db) -> TreasuryActs:
    """A dependency of the routes of acts."""
    return TreasuryActs(sent, db, organization_id)


ByAdmin = Annotated[TreasuryActs, Depends(treasury_acts)]


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


@router.get("/contracts/{contract_id}", responses=problems(*_READING, commerce.ContractUnknown))
async def read_contract_of_organization(
    organization_id: Key, contract_id: ContractId, developer: ReadingDeveloper, config: Config, db: Db
) -> commerce.ContractOut:
    """One contract of the treasury, with its history."""
    found = await db.read(lambda tx: acts.contract_of(tx, developer, organization_id, contract_id))
    return commerce.ContractOut.of(found, config.ledger_id)


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


@router.get("/disputes/{dispute_id}", responses=problems(*_READING, commerce.DisputeUnknown))
async def read_dispute_of_organization(
    organization_id: Key, dispute_id: DisputeId, developer: ReadingDeveloper, db: Db
) -> commerce.DisputeOut:
    """One dispute of the treasury, with its evidence."""
    found = await db.read(lambda tx: acts.dispute_of(tx, developer, organization_id, dispute_id))
    return commerce.DisputeOut.of(found)


@router.post(
    "/contracts/{contract_id}/cancel", response_model=commerce.ContractOut, responses=problems(*_EVERY_ACT)
)
async def cancel_contract_of_organization(
    contract_id: ContractId, admin: ByAdmin, body: commerce.ReasonIn | None = None
) -> Response:
    """Withdraw a proposal of the treasury that is not accepted yet."""
    given = body or commerce.ReasonIn()
    return await admin.on_contract(
        contract_id,
        "cancel",
        lambda tx, agent: commerce.cancel_contract(tx, agent, contract_id, given.reason),
        given,
    )


@router.post(
    "/contracts/{contract_id}/request-changes",
    response_model=commerce.ContractOut,
    responses=problems(*_EVERY_ACT),
)
async def request_changes_as_organization(
    contract_id: ContractId, admin: ByAdmin, body: commerce.NoteIn | None = None
) -> Response:
    """Return what was submitted to the provider."""
    given = body or commerce.NoteIn()
    return await admin.on_contract(
        contract_id,
        "request_changes",
        lambda tx, agent: commerce.request_contract_changes(tx, agent, contract_id, given.note),
        given,
    )


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
    contract_id: ContractId, admin: ByAdmin, body: commerce.ApprovalIn | None = None
) -> Response:
    """Approve what was submitted; it is paid from the hold in the same commit."""
    given = body or commerce.ApprovalIn()
    approval = commerce.ContractApproval(given.milestone, payment_token=given.payment_token)
    return await admin.on_contract(
        contract_id,
        "approve",
        lambda tx, agent: acts.approve(tx, agent, contract_id, approval, admin.runtime),
        given,
    )


@router.post(
    "/contracts/{contract_id}/mark-failed",
    response_model=commerce.ContractOut,
    responses=problems(*_EVERY_ACT),
)
async def mark_contract_of_organization_failed(
    contract_id: ContractId, admin: ByAdmin, body: commerce.ReasonIn | None = None
) -> Response:
    """Declare that the contract has failed. After a submission, what is held stays so until the time for a dispute ends."""
    given = body or commerce.ReasonIn()
    return await admin.on_contract(
        contract_id,
        "mark_failed",
        lambda tx, agent: commerce.mark_contract_failed(
            tx, agent, contract_id, given.reason, admin.runtime.settings
        ),
        given,
    )


@router.post(
    "/contracts/{contract_id}/dispute",
    status_code=201,
    response_model=commerce.DisputeOut,
    responses=problems(*_ACTING, acts.OtherSubject, *commerce.DISPUTE_REFUSALS, Forbidden),
)
async def dispute_contract_as_organization(
    contract_id: ContractId, body: commerce.DisputeIn, admin: ByAdmin
) -> Response:
    """File a dispute about a contract of the treasury, which makes the deposit. `contract_id` in the body may be absent."""
    return await admin.on_dispute(
        "contract.dispute",
        f"contract:{contract_id}",
        lambda tx, agent: acts.dispute(tx, agent, contract_id, body, admin.runtime.settings),
        body,
    )


@router.post(
    "/disputes/{dispute_id}/evidence",
    status_code=201,
    response_model=commerce.DisputeOut,
    responses=problems(
        *_ACTING,
        commerce.DisputeUnknown,
        commerce.EvidenceClosed,
        commerce.TooMuchEvidence,
        commerce.CitedUnknown,
        commerce.AttestationsTooMany,
    ),
)
async def add_evidence_as_organization(
    dispute_id: DisputeId, body: commerce.EvidenceIn, admin: ByAdmin
) -> Response:
    """Add evidence for the treasury, while the dispute is open."""
    return await admin.on_dispute(
        "dispute.evidence",
        f"dispute:{dispute_id}",
        lambda tx, agent: commerce.add_evidence(tx, agent, dispute_id, body.given()),
        body,
    )
