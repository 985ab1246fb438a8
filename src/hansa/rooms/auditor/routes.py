"""HTTP doors of the auditor."""

from datetime import datetime

from fastapi import APIRouter, Depends

from hansa.foundation.plumbing.bodies import GuardedRoute
from hansa.foundation.plumbing.caller import Public
from hansa.foundation.plumbing.database import Tx
from hansa.foundation.plumbing.limits import within_read_limit
from hansa.foundation.plumbing.problem_docs import problems
from hansa.foundation.plumbing.runtime import Config, Db
from hansa.foundation.words.errors import TooManyRequests

from .schemas import SupplyInvariant
from .supply import SupplyVerdict, audit_supply

router = APIRouter(tags=["auditor"], route_class=GuardedRoute)


@router.get(
    "/public/supply-invariant",
    responses=problems(TooManyRequests),
    dependencies=[Depends(within_read_limit)],
)
async def read_supply_invariant(_: Public, db: Db, settings: Config) -> SupplyInvariant:
    """The supply invariant, recomputed now from the log against the balances."""

    async def audited(tx: Tx) -> tuple[SupplyVerdict, datetime]:
        return await audit_supply(tx), await tx.fetchval("SELECT now()")

    verdict, checked_at = await db.read(audited)
    return SupplyInvariant.of(
        verdict, currency=settings.settlement_currency, frame=settings.trust_domain, checked_at=checked_at
    )
