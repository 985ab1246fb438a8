"""Teams over HTTP."""

from typing import Annotated

from fastapi import APIRouter, Path, Request, Response

from hansa.foundation.plumbing.process.runtime import Db, runtime_of
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.bodies import BodyInvalid, GuardedRoute
from hansa.foundation.plumbing.web.caller import Developer, developer_acting, developer_holding
from hansa.foundation.plumbing.web.idempotency import KeyInProgress, KeyReused
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.did import DID_MAX_CHARACTERS
from hansa.foundation.values.errors import Invalid, Unauthorized
from hansa.foundation.values.paging import Page, Pagination
from hansa.foundation.values.rights import Right
from hansa.rooms import agents
from hansa.rooms.organizations.errors import (
    LimitReached,
    MemberUnknown,
    OrganizationNotActive,
    OrganizationUnknown,
    OrgRoleRequired,
    RequestExists,
    TeamExists,
    TeamInRules,
    TeamUnknown,
)
from hansa.rooms.organizations.records import Acting
from hansa.rooms.organizations.repeating import Sent, answer_of
from hansa.rooms.organizations.requests.schemas import WAITS, OrganizationRequestOut
from hansa.rooms.organizations.schemas import OrganizationDeletedOut, OrganizationPlaceOut

from .acts import (
    change_team,
    delete_team,
    make_team,
    put_agent,
    put_member,
    remove_agent,
    remove_member,
    teams_of,
)
from .schemas import TeamGrantIn, TeamIn, TeamOut

BIGINT_MAX = 2**63 - 1

router = APIRouter(
    prefix="/organizations/{organization_id}/teams", tags=["organizations"], route_class=GuardedRoute
)

Key = Annotated[str, Path(max_length=64)]
TeamSlug = Annotated[str, Path(max_length=64)]
MemberId = Annotated[int, Path(ge=1, le=BIGINT_MAX)]
Did = Annotated[str, Path(max_length=DID_MAX_CHARACTERS)]
ReadingDeveloper = Annotated[Developer, developer_holding("orgs:read")]
WritingDeveloper = Annotated[Developer, developer_acting("orgs:write")]
REFUSALS = (
    Unauthorized,
    OrganizationUnknown,
    OrganizationNotActive,
    OrgRoleRequired,
    TeamUnknown,
    Invalid,
)


@router.post(
    "",
    status_code=201,
    response_model=TeamOut,
    responses=problems(
        Unauthorized,
        KeyReused,
        KeyInProgress,
        OrganizationUnknown,
        OrganizationNotActive,
        OrgRoleRequired,
        TeamExists,
        LimitReached,
        Invalid,
        BodyInvalid,
    ),
)
async def create_team(organization_id: Key, body: TeamIn, sent: Sent, db: Db) -> Response:
    """Create a team, whose members have its right at its agents."""
    right = Right[body.grant.upper()]

    async def made(tx: Tx) -> TeamOut:
        return TeamOut.of(await make_team(tx, sent.developer, organization_id, body.slug, right))

    return await sent.answer(db, made, body, status=201)


@router.get("", responses=problems(Unauthorized, OrganizationUnknown, Invalid))
async def read_teams(organization_id: Key, developer: ReadingDeveloper, db: Db) -> Page[TeamOut]:
    """The teams of an own organization, by slug, on one page."""
    found = await db.read(lambda tx: teams_of(tx, developer, organization_id))
    return Page(
        items=[TeamOut.of(team) for team in found],
        pagination=Pagination.of(total=len(found), limit=max(1, len(found)), offset=0),
    )


@router.patch("/{team}", responses=problems(*REFUSALS, BodyInvalid))
async def change_grant(
    organization_id: Key, team: TeamSlug, body: TeamGrantIn, developer: WritingDeveloper, db: Db
) -> TeamOut:
    """Change the right of a team."""
    right = Right[body.grant.upper()]
    return TeamOut.of(
        await db.transaction(lambda tx: change_team(tx, developer, organization_id, team, right))
    )


@router.delete("/{team}", responses=problems(*REFUSALS, TeamInRules))
async def end_team(
    organization_id: Key, team: TeamSlug, developer: WritingDeveloper, db: Db
) -> OrganizationDeletedOut:
    """Delete a team."""
    await db.transaction(lambda tx: delete_team(tx, developer, organization_id, team))
    return OrganizationDeletedOut()


@router.put(
    "/{team}/members/{developer_id}",
    response_model=OrganizationPlaceOut,
    responses=WAITS | problems(*REFUSALS, MemberUnknown, RequestExists, LimitReached),
)
async def add_to_team(
    organization_id: Key,
    team: TeamSlug,
    developer_id: MemberId,
    developer: WritingDeveloper,
    *,
    db: Db,
    http: Request,
) -> Response:
    """Give a member a place in a team. A place that gives a right to approve needs the approvals of the highest tier."""
    acting = Acting.by(runtime_of(http), developer)
    asked = await db.transaction(lambda tx: put_member(tx, acting, organization_id, team, developer_id))
    return answer_of(OrganizationPlaceOut() if asked is None else OrganizationRequestOut.of(asked))


@router.delete("/{team}/members/{developer_id}", responses=problems(*REFUSALS, MemberUnknown))
async def remove_from_team(
    organization_id: Key, team: TeamSlug, developer_id: MemberId, developer: WritingDeveloper, db: Db
) -> OrganizationPlaceOut:
    """Take the place of a member in a team away."""
    await db.transaction(lambda tx: remove_member(tx, developer, organization_id, team, developer_id))
    return OrganizationPlaceOut()


@router.put("/{team}/agents/{did}", responses=problems(*REFUSALS, agents.AgentUnknown))
async def add_agent_to_team(
    organization_id: Key, team: TeamSlug, did: Did, developer: WritingDeveloper, db: Db
) -> OrganizationPlaceOut:
    """Give a team its right at an agent of the organization."""
    await db.transaction(lambda tx: put_agent(tx, developer, organization_id, team, did))
    return OrganizationPlaceOut()


@router.delete("/{team}/agents/{did}", responses=problems(*REFUSALS, agents.AgentUnknown))
async def remove_agent_from_team(
    organization_id: Key, team: TeamSlug, did: Did, developer: WritingDeveloper, db: Db
) -> OrganizationPlaceOut:
    """Take the right of a team at an agent away."""
    await db.transaction(lambda tx: remove_agent(tx, developer, organization_id, team, did))
    return OrganizationPlaceOut()
