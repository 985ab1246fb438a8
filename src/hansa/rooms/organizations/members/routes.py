"""Members of an organization over HTTP."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response

from hansa.foundation.plumbing.process.runtime import Db, runtime_of
from hansa.foundation.plumbing.web.bodies import BodyInvalid, GuardedRoute
from hansa.foundation.plumbing.web.caller import Developer, developer_acting, developer_holding
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import Invalid, Unauthorized
from hansa.foundation.values.paging import Page, Pagination
from hansa.rooms.organizations.errors import (
    LastOwner,
    LimitReached,
    MemberUnknown,
    OrganizationNotActive,
    OrganizationUnknown,
    OrgRoleRequired,
    OwnersTooFew,
    RequestExists,
    SessionRequired,
)
from hansa.rooms.organizations.records import Acting, Changed
from hansa.rooms.organizations.repeating import answer_of
from hansa.rooms.organizations.requests.schemas import WAITS, OrganizationRequestOut
from hansa.rooms.organizations.requests.tally import Reading
from hansa.rooms.organizations.rules import MEMBERS_MAX, Role

from .acts import change_member, members_of
from .schemas import ChangedMemberOut, OrganizationMemberOut, RoleOfMemberIn

BIGINT_MAX = 2**63 - 1
OFFSET_MAX = 2**31 - 1

router = APIRouter(
    prefix="/organizations/{organization_id}/members", tags=["organizations"], route_class=GuardedRoute
)

Key = Annotated[str, Path(max_length=64)]
MemberId = Annotated[int, Path(ge=1, le=BIGINT_MAX)]
ReadingDeveloper = Annotated[Developer, developer_holding("orgs:read")]
WritingDeveloper = Annotated[Developer, developer_acting("orgs:write")]
LeavingDeveloper = Annotated[Developer, developer_holding("orgs:write")]
CHANGES: dict[int | str, dict[str, Any]] = problems(
    Unauthorized,
    OrganizationUnknown,
    OrganizationNotActive,
    MemberUnknown,
    OrgRoleRequired,
    LastOwner,
    SessionRequired,
    OwnersTooFew,
    LimitReached,
    RequestExists,
    Invalid,
    BodyInvalid,
)


@router.get("", responses=problems(Unauthorized, OrganizationUnknown, Invalid))
async def read_members(
    organization_id: Key,
    developer: ReadingDeveloper,
    db: Db,
    limit: Annotated[int, Query(ge=1, le=MEMBERS_MAX)] = 100,
    offset: Annotated[int, Query(ge=0, le=OFFSET_MAX)] = 0,
) -> Page[OrganizationMemberOut]:
    """The members of an own organization, the owners first."""
    members, total = await db.read(
        lambda tx: members_of(tx, developer, organization_id, limit=limit, offset=offset)
    )
    return Page(
        items=[OrganizationMemberOut.of(member) for member in members],
        pagination=Pagination.of(total=total, limit=limit, offset=offset),
    )


@router.patch("/{developer_id}", response_model=ChangedMemberOut, responses={**CHANGES, **WAITS})
async def change_role(
    organization_id: Key,
    developer_id: MemberId,
    body: RoleOfMemberIn,
    developer: WritingDeveloper,
    *,
    db: Db,
    http: Request,
) -> Response:
    """Change the role of a member below the own role. To make or demote an owner, more than half of all owners must agree."""
    role, acting = Role.named(body.role), Acting.by(runtime_of(http), developer)
    changed = await db.transaction(lambda tx: change_member(tx, acting, organization_id, developer_id, role))
    return _answer(changed)


@router.delete("/{developer_id}", response_model=ChangedMemberOut, responses={**CHANGES, **WAITS})
async def end_membership(
    organization_id: Key, developer_id: MemberId, developer: LeavingDeveloper, db: Db, http: Request
) -> Response:
    """Leave an organization, or remove a member below the own role. To remove an owner, more than half of all owners must agree."""
    acting = Acting.by(runtime_of(http), developer)
    if developer_id != developer.id:
        developer.require_not_suspended()
    changed = await db.transaction(lambda tx: change_member(tx, acting, organization_id, developer_id, None))
    return _answer(changed)


def _answer(changed: Changed | Reading) -> Response:
    if isinstance(changed, Changed):
        return answer_of(ChangedMemberOut.of(changed))
    return answer_of(OrganizationRequestOut.of(changed))
