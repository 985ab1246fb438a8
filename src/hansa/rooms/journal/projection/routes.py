"""HTTP doors of projections."""

from typing import Annotated

from fastapi import APIRouter

from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.web.bodies import GuardedRoute
from hansa.foundation.plumbing.web.caller import Developer, admin_holding
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import Unauthorized
from hansa.rooms.journal.ledger_readings import OfLedger

from .errors import ProjectionDiverges, SnapshotsDisabled, SnapshotWithheld
from .schemas import SnapshotOut
from .snapshot import write_baseline

router = APIRouter(route_class=GuardedRoute)


@router.post(
    "/admin/projection-snapshot",
    responses=problems(Unauthorized, SnapshotsDisabled, ProjectionDiverges, SnapshotWithheld),
)
async def write_projection_snapshot(
    administrator: Annotated[Developer, admin_holding("admin_platform")],
    db: Db,
    settings: Config,
    ledger: OfLedger,
) -> SnapshotOut:
    """Write the balances of all accounts into the journal as the baseline of projections."""
    if not settings.enable_projection_snapshots:
        raise SnapshotsDisabled
    baseline = await db.transaction(
        lambda tx: write_baseline(
            tx,
            ledger,
            frame=settings.ledger_id,
            currency=settings.settlement_currency,
            administrator=administrator,
        )
    )
    return SnapshotOut.of(baseline)
