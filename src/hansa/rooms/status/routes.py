"""Status of the registry over HTTP: for anybody, and for administrators of the platform who open and update incidents."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from hansa.foundation.plumbing.process.runtime import Config, Db, runtime_of
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.bodies import BodyInvalid, GuardedRoute
from hansa.foundation.plumbing.web.caller import (
    CREDENTIAL_OPTIONAL,
    Developer,
    Public,
    admin_holding,
    maybe_developer_holding,
)
from hansa.foundation.plumbing.web.idempotency import KeyInProgress, KeyReused
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import Invalid, Unauthorized
from hansa.rooms import organizations

from .checks import CHECKS, Checks, state_of
from .errors import IncidentResolved, IncidentsTooMany, IncidentTimesInvalid, IncidentUnknown, UpdatesTooMany
from .incidents import open_incident, update_incident
from .reading import read_status
from .schemas import IncidentIn, IncidentOut, IncidentUpdateIn, PublicStatus, StackComponent, StackHealth

# Without a limit: it is counted in the database, and these answer when the database is away. Their checks are shared.
public_router = APIRouter(tags=["public"], route_class=GuardedRoute)
admin_router = APIRouter(prefix="/admin/incidents", tags=["administrators"], route_class=GuardedRoute)

PLATFORM = "admin_platform"
SentByPlatform = Annotated[organizations.Repeating, organizations.sent_by(admin_holding(PLATFORM))]
MaybePlatform = Annotated[Developer | None, maybe_developer_holding(f"admin:{PLATFORM}")]
Found = Annotated[Checks, Depends(CHECKS.given)]


@public_router.get("/public/status")
async def read_public_status(_: Public, request: Request) -> PublicStatus:
    """State of the registry and of its components, incidents, and the uptime of 90 days."""
    return await read_status(runtime_of(request))


@public_router.get(
    "/stack-health",
    openapi_extra=CREDENTIAL_OPTIONAL,
    response_model_exclude_none=True,
    responses={503: {"model": StackHealth, "description": "A component failed."}},
)
async def read_stack_health(
    administrator: MaybePlatform, checks: Found, settings: Config, response: Response
) -> StackHealth:
    """State of each component, with status 503 while one failed. Administrators of the platform receive the findings as well."""
    found = await checks.recent()
    is_shown = administrator is not None and (
        PLATFORM in administrator.areas
        and (administrator.second_factor_at is not None or not settings.require_admin_2fa)
    )
    state = state_of(found)
    response.status_code = 503 if state == "failed" else 200
    return StackHealth(
        state=state,
        components={
            check.name: StackComponent(state=check.state, detail=check.detail if is_shown else None)
            for check in found
        },
    )


@admin_router.post(
    "",
    status_code=201,
    response_model=IncidentOut,
    responses=problems(
        Unauthorized, IncidentTimesInvalid, IncidentsTooMany, KeyReused, KeyInProgress, Invalid, BodyInvalid
    ),
)
async def create_incident(body: IncidentIn, sent: SentByPlatform, db: Db) -> Response:
    """Open an incident, or announce a maintenance; both are public at once."""

    async def opened(tx: Tx) -> IncidentOut:
        return IncidentOut.of(await open_incident(tx, sent.developer, body.incident()))

    return await sent.answer(db, opened, body, status=201)


@admin_router.post(
    "/{incident_id}/updates",
    status_code=201,
    response_model=IncidentOut,
    responses=problems(
        Unauthorized,
        IncidentUnknown,
        IncidentResolved,
        UpdatesTooMany,
        KeyReused,
        KeyInProgress,
        Invalid,
        BodyInvalid,
    ),
)
async def create_incident_update(
    incident_id: UUID, body: IncidentUpdateIn, sent: SentByPlatform, db: Db
) -> Response:
    """State how far an incident or maintenance is; `resolved` ends it for good."""

    async def updated(tx: Tx) -> IncidentOut:
        found = await update_incident(tx, sent.developer, incident_id, state=body.state, body=body.text)
        return IncidentOut.of(found)

    return await sent.answer(db, updated, body, status=201)
