"""Organizations over HTTP."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Request, Response

from hansa.foundation.plumbing.process.runtime import Config, Db, runtime_of
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.bodies import BodyInvalid, GuardedRoute
from hansa.foundation.plumbing.web.caller import (
    CREDENTIAL_OPTIONAL,
    Developer,
    developer_acting,
    developer_holding,
    maybe_developer_holding,
)
from hansa.foundation.plumbing.web.idempotency import KeyInProgress, KeyReused
from hansa.foundation.plumbing.web.lazy_routes import include
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import Conflict, Invalid, TooManyRequests, Unauthorized
from hansa.foundation.values.paging import Page, Pagination
from hansa.rooms import agents, catalogue, ledger

from .appointments import admin_router
from .appointments import router as appointments_router
from .errors import (
    LimitReached,
    OrganizationBlocked,
    OrganizationNotActive,
    OrganizationUnknown,
    OrgRoleRequired,
    SlugRefused,
    SlugTaken,
)
from .fleet import router as fleet_router
from .founding import NewOrganization, delete, describe, found
from .invitations import answering_router
from .invitations import router as invitations_router
from .members import router as members_router
from .reading import own_organizations, profile_of
from .repeating import Sent
from .requests.kinds import kinds_of
from .requests.routes import router as requests_router
from .schemas import (
    OrganizationActOut,
    OrganizationChangesIn,
    OrganizationDeletedOut,
    OrganizationIn,
    OrganizationOut,
    OrganizationSummaryOut,
)
from .summary import acts_of, summary_of
from .teams import router as teams_router

PAGE_MAX = 100
OFFSET_MAX = 2**31 - 1

router = APIRouter(tags=["organizations"], route_class=GuardedRoute)
include(
    router,
    answering_router,
    invitations_router,
    members_router,
    teams_router,
    fleet_router,
    requests_router,
    appointments_router,
    admin_router,
)

Key = Annotated[str, Path(max_length=64)]
MaybeReader = Annotated[Developer | None, maybe_developer_holding("orgs:read")]
ReadingDeveloper = Annotated[Developer, developer_holding("orgs:read")]
WritingDeveloper = Annotated[Developer, developer_acting("orgs:write")]
Limit = Annotated[int, Query(ge=1, le=PAGE_MAX)]
Offset = Annotated[int, Query(ge=0, le=OFFSET_MAX)]


@router.post(
    "/organizations",
    status_code=201,
    response_model=OrganizationOut,
    responses=problems(
        Unauthorized,
        KeyReused,
        KeyInProgress,
        agents.DeveloperUnverified,
        SlugRefused,
        SlugTaken,
        catalogue.HumanReadableIdTaken,
        LimitReached,
        Invalid,
        BodyInvalid,
    ),
)
async def create_organization(
    body: OrganizationIn, sent: Sent, db: catalogue.CardWrites, config: Config
) -> Response:
    """Create an organization, of which the caller is the owner, and its treasury."""
    new = NewOrganization(body.slug, body.name, body.description, body.visibility)

    async def founded(tx: Tx) -> OrganizationOut:
        return OrganizationOut.of(await found(tx, sent.developer, new, config))

    return await sent.answer(db, founded, body, status=201)


@router.get("/organizations", responses=problems(Unauthorized, Invalid))
async def list_own_organizations(
    developer: ReadingDeveloper, db: Db, limit: Limit = 50, offset: Offset = 0
) -> Page[OrganizationOut]:
    """The caller's organizations, oldest first."""
    page, total = await db.read(lambda tx: own_organizations(tx, developer.id, limit=limit, offset=offset))
    return Page(
        items=[OrganizationOut.of(one) for one in page],
        pagination=Pagination.of(total=total, limit=limit, offset=offset),
    )


@router.get(
    "/organizations/{organization_id}",
    openapi_extra=CREDENTIAL_OPTIONAL,
    dependencies=[Depends(within_read_limit)],
    responses=problems(OrganizationUnknown, Invalid, TooManyRequests),
)
async def read_organization(organization_id: Key, developer: MaybeReader, db: Db) -> OrganizationOut:
    """An organization by its id or slug: an own one, or a public one."""
    reader = developer.id if developer else None
    return OrganizationOut.of(await db.read(lambda tx: profile_of(tx, organization_id, reader)))


@router.patch(
    "/organizations/{organization_id}",
    responses=problems(
        Unauthorized, OrganizationUnknown, OrganizationNotActive, OrgRoleRequired, Invalid, BodyInvalid
    ),
)
async def change_organization(
    organization_id: Key, body: OrganizationChangesIn, developer: WritingDeveloper, db: Db
) -> OrganizationOut:
    """Change name, description or visibility."""
    changed = await db.transaction(
        lambda tx: describe(
            tx,
            developer,
            organization_id,
            name=body.name,
            description=body.description,
            visibility=body.visibility,
        )
    )
    return OrganizationOut.of(changed)


@router.delete(
    "/organizations/{organization_id}",
    responses=problems(
        Unauthorized,
        OrganizationUnknown,
        OrganizationNotActive,
        OrgRoleRequired,
        OrganizationBlocked,
        Conflict,
        ledger.AccountHoldsUnits,
        ledger.CrossingPending,
        Invalid,
    ),
)
async def delete_organization(
    organization_id: Key, developer: WritingDeveloper, db: catalogue.CardWrites, http: Request
) -> OrganizationDeletedOut:
    """Delete an organization that owns no agent and no units. Its slug is never used again."""
    runtime = runtime_of(http)
    await db.transaction(lambda tx: delete(tx, developer, organization_id, runtime))
    return OrganizationDeletedOut()


@router.get(
    "/organizations/{organization_id}/summary", responses=problems(Unauthorized, OrganizationUnknown, Invalid)
)
async def read_summary(
    organization_id: Key, developer: ReadingDeveloper, db: Db, http: Request
) -> OrganizationSummaryOut:
    """Counts, balances of the treasury and requests that wait for the caller."""
    kinds = kinds_of(runtime_of(http))
    return OrganizationSummaryOut.of(
        await db.read(lambda tx: summary_of(tx, kinds, developer, organization_id))
    )


@router.get(
    "/organizations/{organization_id}/audit",
    responses=problems(Unauthorized, OrganizationUnknown, OrgRoleRequired, Invalid),
)
async def read_audit(
    organization_id: Key, developer: ReadingDeveloper, db: Db, limit: Limit = 50, offset: Offset = 0
) -> Page[OrganizationActOut]:
    """The acts in an own organization, newest first."""
    acts, total = await db.read(
        lambda tx: acts_of(tx, developer, organization_id, limit=limit, offset=offset)
    )
    return Page(
        items=[OrganizationActOut.of(one) for one in acts],
        pagination=Pagination.of(total=total, limit=limit, offset=offset),
    )
