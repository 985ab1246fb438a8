"""HTTP doors of the emission policies."""

from typing import Annotated

from fastapi import APIRouter, Path

from hansa.foundation.plumbing.process.runtime import Db
from hansa.foundation.plumbing.web.bodies import GuardedRoute
from hansa.foundation.plumbing.web.caller import Developer, admin_holding
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import Unauthorized

from .errors import EmissionRequired
from .policies import change_policy, list_policies
from .schemas import PoliciesOut, PolicyChange, PolicyOut

EventType = Annotated[str, Path(pattern=r"^[A-Z][A-Za-z0-9]{1,79}$")]
Administrator = Annotated[Developer, admin_holding("admin_platform")]

router = APIRouter(prefix="/admin/event-emission-policies", route_class=GuardedRoute)


@router.get("", responses=problems(Unauthorized))
async def read_policies(_: Administrator, db: Db) -> PoliciesOut:
    """Every emission policy."""
    policies, fail_closed = await db.read(list_policies)
    return PoliciesOut(items=[PolicyOut.of(policy) for policy in policies], fail_closed=fail_closed)


@router.put("/{event_type}", responses=problems(Unauthorized, EmissionRequired))
async def put_policy(
    event_type: EventType, body: PolicyChange, administrator: Administrator, db: Db
) -> PolicyOut:
    """Change which events of a type are recorded or folded; the change is recorded in the journal."""
    policy = await db.transaction(lambda tx: change_policy(tx, event_type, body.members(), administrator))
    return PolicyOut.of(policy)
