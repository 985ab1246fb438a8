"""Budgets of a treasury over HTTP."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path, Request, Response

from hansa.foundation.plumbing.process.runtime import Db, runtime_of
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.bodies import BodyInvalid, GuardedRoute
from hansa.foundation.plumbing.web.caller import Developer, developer_acting, developer_holding
from hansa.foundation.plumbing.web.idempotency import KeyInProgress, KeyReused
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import Invalid, Unauthorized
from hansa.foundation.values.paging import Page, Pagination
from hansa.rooms import agents, organizations
from hansa.rooms.organizations import (
    WAITS,
    Acting,
    OrganizationDeletedOut,
    OrganizationRequestOut,
    Reading,
    Sent,
    answer_of,
    status_of,
)

from .control.budgeting import change_budget, delete_budget, make_budget
from .errors import AgentHasBudget, BudgetUnknown
from .reading import budgets_of
from .records import Budget
from .schemas import TreasuryBudgetChangesIn, TreasuryBudgetIn, TreasuryBudgetOut

CREATED = 201

router = APIRouter(prefix="/budgets", tags=["organizations"], route_class=GuardedRoute)

Key = Annotated[str, Path(max_length=64)]
ReadingDeveloper = Annotated[Developer, developer_holding("orgs:read")]
WritingDeveloper = Annotated[Developer, developer_acting("orgs:write")]
REFUSALS = (
    Unauthorized,
    organizations.OrganizationUnknown,
    organizations.OrganizationNotActive,
    organizations.OrgRoleRequired,
    Invalid,
)
CHANGES = (
    *REFUSALS,
    organizations.TeamUnknown,
    organizations.RequestExists,
    organizations.LimitReached,
    agents.AgentUnknown,
    AgentHasBudget,
    BodyInvalid,
)


@router.post(
    "",
    status_code=CREATED,
    response_model=TreasuryBudgetOut,
    responses=WAITS | problems(*CHANGES, KeyReused, KeyInProgress),
)
async def create_budget(organization_id: Key, body: TreasuryBudgetIn, sent: Sent, db: Db) -> Response:
    """Create the budget of a team or an agent. With tiers of approvals it needs those of the highest one."""

    async def made(tx: Tx) -> TreasuryBudgetOut | OrganizationRequestOut:
        return _out(await make_budget(tx, sent.acting, organization_id, body.new()))

    answer = await sent.answer(db, made, body, status=CREATED)
    answer.status_code = status_of(answer.body, CREATED)
    return answer


@router.get("", responses=problems(Unauthorized, organizations.OrganizationUnknown, Invalid))
async def read_budgets(organization_id: Key, developer: ReadingDeveloper, db: Db) -> Page[TreasuryBudgetOut]:
    """The budgets of an own organization, the oldest first, on one page."""
    found = await db.read(lambda tx: budgets_of(tx, developer, organization_id))
    return Page(
        items=[TreasuryBudgetOut.of(one) for one in found],
        pagination=Pagination.of(total=len(found), limit=max(1, len(found)), offset=0),
    )


@router.patch(
    "/{budget_id}", response_model=TreasuryBudgetOut, responses=WAITS | problems(*CHANGES, BudgetUnknown)
)
async def patch_budget(
    organization_id: Key,
    budget_id: UUID,
    body: TreasuryBudgetChangesIn,
    developer: WritingDeveloper,
    *,
    db: Db,
    http: Request,
) -> Response:
    """Change a budget, which keeps what was spent. A change that allows more needs the approvals of the highest tier."""
    acting = Acting.by(runtime_of(http), developer)
    changed = await db.transaction(
        lambda tx: change_budget(tx, acting, organization_id, budget_id, body.changes())
    )
    return answer_of(_out(changed))


@router.delete("/{budget_id}", responses=problems(*REFUSALS, BudgetUnknown))
async def end_budget(
    organization_id: Key, budget_id: UUID, developer: WritingDeveloper, db: Db, http: Request
) -> OrganizationDeletedOut:
    """Delete a budget."""
    acting = Acting.by(runtime_of(http), developer)
    await db.transaction(lambda tx: delete_budget(tx, acting, organization_id, budget_id))
    return OrganizationDeletedOut()


def _out(found: Budget | Reading) -> TreasuryBudgetOut | OrganizationRequestOut:
    return OrganizationRequestOut.of(found) if isinstance(found, Reading) else TreasuryBudgetOut.of(found)
