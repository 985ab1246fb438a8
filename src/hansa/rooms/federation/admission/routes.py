"""HTTP doors of admission."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query

from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.web.bodies import BodyInvalid, GuardedRoute
from hansa.foundation.plumbing.web.caller import Developer, admin_holding
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import Invalid, Unauthorized

from . import admit
from .errors import LicenceAlreadyHeld, LicenceForOwnDomain, LicenceState, LicenceUnknown
from .schemas import IssuedLicenceOut, LicenceChange, LicenceIn, LicenceOut, LicencesPage, LicencesQuery

router = APIRouter(prefix="/admin/federation/licence-keys", tags=["administrators"], route_class=GuardedRoute)

Administrator = Annotated[Developer, admin_holding("admin_federation")]

CHANGES = problems(Unauthorized, LicenceUnknown, LicenceState, Invalid, BodyInvalid)


@router.post(
    "",
    status_code=201,
    responses=problems(Unauthorized, LicenceAlreadyHeld, LicenceForOwnDomain, Invalid, BodyInvalid),
)
async def issue_licence_key(
    body: LicenceIn, administrator: Administrator, db: Db, settings: Config
) -> IssuedLicenceOut:
    """Admit another registry to the internal routes. Its licence key is shown only once."""
    issued = await db.transaction(
        lambda tx: admit.issue_licence(
            tx,
            administrator,
            own_domain=settings.trust_domain,
            trust_domain=body.trust_domain,
            note=body.note,
            ttl_days=body.expires_in_days,
        )
    )
    return IssuedLicenceOut.issued(issued)


@router.get("", responses=problems(Unauthorized, Invalid))
async def list_licence_keys(
    _: Administrator, query: Annotated[LicencesQuery, Query()], db: Db
) -> LicencesPage:
    """Every admission, newest first."""
    licences, total = await db.read(
        lambda tx: admit.list_licences(tx, limit=query.limit, offset=query.offset)
    )
    return LicencesPage.of(licences, total, query)


@router.post("/{licence_id:uuid}/suspend", responses=CHANGES)
async def suspend_licence_key(
    licence_id: UUID, body: LicenceChange, administrator: Administrator, db: Db
) -> LicenceOut:
    """Suspend an active licence: its key is refused with 403 from the next request on."""
    return await _changed(db, administrator, licence_id, "suspend", body)


@router.post("/{licence_id:uuid}/reinstate", responses=CHANGES)
async def reinstate_licence_key(
    licence_id: UUID, body: LicenceChange, administrator: Administrator, db: Db
) -> LicenceOut:
    """Reinstate a suspended licence."""
    return await _changed(db, administrator, licence_id, "reinstate", body)


@router.post("/{licence_id:uuid}/revoke", responses=CHANGES)
async def revoke_licence_key(
    licence_id: UUID, body: LicenceChange, administrator: Administrator, db: Db
) -> LicenceOut:
    """Revoke a licence permanently."""
    return await _changed(db, administrator, licence_id, "revoke", body)


async def _changed(
    db: Db, administrator: Developer, licence_id: UUID, act: admit.Act, body: LicenceChange
) -> LicenceOut:
    licence = await db.transaction(
        lambda tx: admit.change_licence(tx, administrator, licence_id, act, body.reason)
    )
    return LicenceOut.of(licence)
