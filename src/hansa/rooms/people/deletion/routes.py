"""HTTP doors of account deletion."""

from typing import Annotated

from fastapi import APIRouter, Depends

from hansa.foundation.plumbing.process.runtime import Config, Db, Sealing
from hansa.foundation.plumbing.room import ACCOUNT_END, AccountEnds
from hansa.foundation.plumbing.web.bodies import GuardedRoute
from hansa.foundation.plumbing.web.caller import CurrentDeveloper, Developer, developer_holding
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import Unauthorized

from . import acts
from .errors import DeletionBlocked, DeletionNotRequested
from .schemas import DeletionOut

OwnedData = Annotated[AccountEnds, Depends(ACCOUNT_END.given)]

router = APIRouter(prefix="/account", tags=["accounts"], route_class=GuardedRoute)


@router.post("/request-deletion", responses=problems(Unauthorized, DeletionBlocked))
async def request_deletion(
    developer: CurrentDeveloper, account_end: OwnedData, db: Db, config: Config, seal: Sealing
) -> DeletionOut:
    """Request the deletion of the own account after the cooling-off period. Until then tokens work, and each can cancel it."""
    days = config.account_deletion_cooling_off_days
    return DeletionOut.of(
        await db.transaction(
            lambda tx: acts.request_deletion(tx, seal, developer, account_end, cooling_off_days=days)
        )
    )


@router.post("/cancel-deletion", responses=problems(Unauthorized, DeletionNotRequested))
async def cancel_deletion(developer: CurrentDeveloper, db: Db) -> DeletionOut:
    """Cancel the deletion of the own account."""
    return DeletionOut.of(await db.transaction(lambda tx: acts.cancel_deletion(tx, developer)))


@router.get("/deletion-status", responses=problems(Unauthorized))
async def deletion_status(
    developer: Annotated[Developer, developer_holding("profile:read")], account_end: OwnedData, db: Db
) -> DeletionOut:
    """The status of the deletion of the own account, and what prevents it."""
    return DeletionOut.of(await db.read(lambda tx: acts.deletion_status_of(tx, developer, account_end)))
