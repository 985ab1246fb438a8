"""HTTP door of the audit log."""

from typing import Annotated

from fastapi import APIRouter, Query

from hansa.foundation.plumbing.process.runtime import Db
from hansa.foundation.plumbing.web.bodies import GuardedRoute
from hansa.foundation.plumbing.web.caller import Developer, admin_holding
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import Invalid, Unauthorized

from .reading import read_audit_log
from .schemas import AuditLogPage, AuditLogQuery

router = APIRouter(prefix="/admin", tags=["administrators"], route_class=GuardedRoute)


@router.get("/audit-log", responses=problems(Unauthorized, Invalid))
async def audit_log(
    _: Annotated[Developer, admin_holding("admin_platform")],
    query: Annotated[AuditLogQuery, Query()],
    db: Db,
) -> AuditLogPage:
    """The audit log of administrators, newest first."""
    criteria = query.criteria()
    acts, names, total = await db.read(lambda tx: read_audit_log(tx, criteria))
    return AuditLogPage.of(acts, names, total, criteria)
