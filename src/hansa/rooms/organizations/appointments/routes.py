"""Appointments of owners over HTTP."""

from typing import Annotated

from fastapi import APIRouter, Path, Response

from hansa.foundation.plumbing.process.runtime import Config, Db, Sealing
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.bodies import BodyInvalid, GuardedRoute
from hansa.foundation.plumbing.web.caller import admin_holding
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import Invalid, Unauthorized
from hansa.rooms import agents
from hansa.rooms.organizations.errors import (
    AppointeeUnknown,
    AppointmentOfCaller,
    AppointmentPending,
    AppointmentUnknown,
    LimitReached,
    NotAppointable,
    OrganizationNotActive,
    OrganizationUnknown,
    OrgRoleRequired,
    OwnersCanAct,
)
from hansa.rooms.organizations.repeating import Repeating, Sent, sent_by

from .acts import appoint, veto
from .schemas import OwnerAppointmentIn, OwnerAppointmentOut

admin_router = APIRouter(
    prefix="/admin/organizations/{organization_id}/owners", tags=["administrators"], route_class=GuardedRoute
)
router = APIRouter(
    prefix="/organizations/{organization_id}/owners", tags=["organizations"], route_class=GuardedRoute
)

Key = Annotated[str, Path(max_length=64)]
SentBySupport = Annotated[Repeating, sent_by(admin_holding("admin_support"))]


@admin_router.post(
    "",
    status_code=201,
    response_model=OwnerAppointmentOut,
    responses=problems(
        Unauthorized,
        agents.AgentOfCaller,
        AppointmentOfCaller,
        OrganizationUnknown,
        OrganizationNotActive,
        OwnersCanAct,
        AppointeeUnknown,
        NotAppointable,
        AppointmentPending,
        LimitReached,
        Invalid,
        BodyInvalid,
    ),
)
async def appoint_owner(
    organization_id: Key,
    body: OwnerAppointmentIn,
    sent: SentBySupport,
    *,
    db: Db,
    seal: Sealing,
    config: Config,
) -> Response:
    """Appoint an owner where too few owners can act. It takes effect a week after the notice to the members, unless an owner vetoes it."""

    async def appointed(tx: Tx) -> OwnerAppointmentOut:
        appointment = await appoint(
            tx,
            seal,
            sent.developer,
            organization_id,
            developer_id=body.developer_id,
            reason=body.reason,
            base_url=config.base_url,
        )
        return OwnerAppointmentOut.of(appointment)

    return await sent.answer(db, appointed, body, status=201)


@router.post(
    "/veto",
    response_model=OwnerAppointmentOut,
    responses=problems(Unauthorized, OrganizationUnknown, OrgRoleRequired, AppointmentUnknown, Invalid),
)
async def veto_owner(organization_id: Key, sent: Sent, db: Db) -> Response:
    """End the pending appointment of an owner."""

    async def vetoed(tx: Tx) -> OwnerAppointmentOut:
        return OwnerAppointmentOut.of(await veto(tx, sent.developer, organization_id))

    return await sent.answer(db, vetoed)
