"""HTTP doors of spend approvals."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path, Query

from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.web.bodies import GuardedRoute
from hansa.foundation.plumbing.web.caller import CurrentAgent, Developer, developer_acting, developer_holding
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.did import DID_MAX_CHARACTERS
from hansa.foundation.values.errors import Invalid, Unauthorized
from hansa.foundation.values.paging import Page, Pagination
from hansa.rooms.agents.errors import AgentUnknown

from .approvals import approvals_of, decide, own_approvals
from .errors import ApprovalDecided, ApprovalInBrowser, ApprovalUnknown
from .schemas import SpendApprovalOut, Status

PAGE_DEFAULT = 50
PAGE_MAX = 500
OFFSET_MAX = 2**31 - 1

router = APIRouter(prefix="/agents", route_class=GuardedRoute)

Did = Annotated[str, Path(max_length=DID_MAX_CHARACTERS)]
ReadingDeveloper = Annotated[Developer, developer_holding("agents:read")]
WritingDeveloper = Annotated[Developer, developer_acting("agents:write")]
SecretsDeveloper = Annotated[Developer, developer_acting("agents:secrets")]
Limit = Annotated[int, Query(ge=1, le=PAGE_MAX)]
Offset = Annotated[int, Query(ge=0, le=OFFSET_MAX)]
DECISIONS = problems(Unauthorized, AgentUnknown, ApprovalUnknown, ApprovalInBrowser, ApprovalDecided, Invalid)


@router.get("/me/spend-approvals", responses=problems(Unauthorized, Invalid))
async def read_own_approvals(
    agent: CurrentAgent,
    db: Db,
    config: Config,
    *,
    status: Status | None = None,
    limit: Limit = PAGE_DEFAULT,
    offset: Offset = 0,
) -> Page[SpendApprovalOut]:
    """The spend approvals of the calling agent, newest first."""
    found, total = await db.read(lambda tx: own_approvals(tx, agent.did, status, limit=limit, offset=offset))
    return Page(
        items=[SpendApprovalOut.of(one, agent.did, config.settlement_currency) for one in found],
        pagination=Pagination.of(total=total, limit=limit, offset=offset),
    )


@router.get("/{did}/spend-approvals", responses=problems(Unauthorized, AgentUnknown, Invalid))
async def read_approvals(
    did: Did,
    developer: ReadingDeveloper,
    db: Db,
    config: Config,
    *,
    status: Status | None = None,
    limit: Limit = PAGE_DEFAULT,
    offset: Offset = 0,
) -> Page[SpendApprovalOut]:
    """The spend approvals of an own agent, pending and decided, newest first."""
    found, total = await db.read(
        lambda tx: approvals_of(tx, developer, did, status, limit=limit, offset=offset)
    )
    return Page(
        items=[SpendApprovalOut.of(one, did, config.settlement_currency) for one in found],
        pagination=Pagination.of(total=total, limit=limit, offset=offset),
    )


@router.post("/{did}/spend-approvals/{approval_id:uuid}/approve", responses=DECISIONS)
async def approve_payment(
    did: Did, approval_id: UUID, developer: SecretsDeveloper, db: Db, config: Config
) -> SpendApprovalOut:
    """Approve this payment of an own agent, once, within 24 hours."""
    approval = await db.transaction(lambda tx: decide(tx, developer, did, approval_id, is_approved=True))
    return SpendApprovalOut.of(approval, did, config.settlement_currency)


@router.post("/{did}/spend-approvals/{approval_id:uuid}/deny", responses=DECISIONS)
async def deny_payment(
    did: Did, approval_id: UUID, developer: WritingDeveloper, db: Db, config: Config
) -> SpendApprovalOut:
    """Deny this payment of an own agent."""
    approval = await db.transaction(lambda tx: decide(tx, developer, did, approval_id, is_approved=False))
    return SpendApprovalOut.of(approval, did, config.settlement_currency)
