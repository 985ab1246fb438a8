"""Awards over HTTP, for administrators of the treasury."""

from typing import Annotated

from fastapi import APIRouter, Path, Query

from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.web.bodies import BodyInvalid, GuardedRoute
from hansa.foundation.plumbing.web.caller import Developer, admin_holding
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import Invalid, Unauthorized
from hansa.foundation.values.paging import Page, Pagination
from hansa.rooms import agents, ledger

from . import errors
from .dispute import AwardFilter, AwardStatus
from .pending_awards import approve_award, list_awards, reject_award
from .schemas import BIGINT_MAX, AwardOut, AwardReasonIn

PAGE_DEFAULT, PAGE_MAX = 50, 200

award_router = APIRouter(prefix="/admin/awards", tags=["administrators"], route_class=GuardedRoute)

DisputeId = Annotated[int, Path(ge=1, le=BIGINT_MAX)]
Treasurer = Annotated[Developer, admin_holding("admin_treasury")]
DECIDING = (
    Unauthorized,
    Invalid,
    errors.DisputeUnknown,
    errors.AwardDecided,
    errors.SecondAdministratorNeeded,
    agents.AgentOfCaller,
)


@award_router.get("", responses=problems(Unauthorized, Invalid))
async def list_awards_of_rulings(
    _: Treasurer,
    db: Db,
    *,
    status: Annotated[AwardStatus | None, Query()] = None,
    limit: Annotated[int, Query(ge=1, le=PAGE_MAX)] = PAGE_DEFAULT,
    offset: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0,
) -> Page[AwardOut]:
    """Units that rulings issue beyond those that they destroyed, newest first; a PENDING award waits for a decision."""
    found, total = await db.read(lambda tx: list_awards(tx, AwardFilter(status, limit, offset)))
    return Page[AwardOut](
        items=[AwardOut.of(one) for one in found],
        pagination=Pagination.of(total=total, limit=limit, offset=offset),
    )


@award_router.post(
    "/{dispute_id}/approve",
    responses=problems(*DECIDING, ledger.IssuanceRefused, ledger.MintTooLarge, ledger.SupplyExhausted),
)
async def approve_award_of_ruling(
    dispute_id: DisputeId, administrator: Treasurer, config: Config, db: Db
) -> AwardOut:
    """Issue an award to the complainant. The administrator is another one than that of the ruling."""
    return AwardOut.of(await db.transaction(lambda tx: approve_award(tx, administrator, dispute_id, config)))


@award_router.post("/{dispute_id}/reject", responses=problems(*DECIDING, BodyInvalid))
async def reject_award_of_ruling(
    dispute_id: DisputeId, body: AwardReasonIn, administrator: Treasurer, db: Db
) -> AwardOut:
    """Issue nothing more for a ruling. The administrator is another one than that of the ruling."""
    return AwardOut.of(
        await db.transaction(lambda tx: reject_award(tx, administrator, dispute_id, body.reason))
    )
