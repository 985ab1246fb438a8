"""HTTP doors of the auditor."""

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Header, Query
from fastapi.responses import JSONResponse, Response

from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.web.bodies import GuardedRoute
from hansa.foundation.plumbing.web.caller import InternalCaller, LicenceSuspended, Public
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import Invalid, TooManyRequests, Unauthorized, Unavailable

from .cycle import audit_from_zero
from .schemas import Badge, SupplyAudit, SupplyInvariant
from .watch import SupplyBadge, draw, read_bridges, watch_supply

router = APIRouter(tags=["auditor"], route_class=GuardedRoute)

BADGE_HEADERS = {"Cache-Control": "public, max-age=30", "Vary": "Accept"}


@router.get(
    "/public/supply-invariant",
    responses=problems(TooManyRequests, Unavailable),
    dependencies=[Depends(within_read_limit)],
)
async def read_supply_invariant(_: Public, db: Db, settings: Config) -> SupplyInvariant:
    """The current supply invariant, recomputed from the log, with the result of the last audit cycle."""
    watch = await watch_supply(db)
    return SupplyInvariant.of(watch, currency=settings.settlement_currency, frame=settings.ledger_id)


@router.get(
    "/public/badge/supply",
    response_model=Badge,
    responses={
        200: {"content": {"image/svg+xml": {"schema": {"type": "string"}}}},
        **problems(Invalid, TooManyRequests, Unavailable),
    },
    dependencies=[Depends(within_read_limit)],
)
async def read_supply_badge(
    _: Public,
    db: Db,
    format: Annotated[Literal["svg", "json"] | None, Query()] = None,  # noqa: A002
    accept: Annotated[str, Header()] = "",
) -> Response:
    """The supply invariant as a badge: SVG, or JSON if the client prefers it."""
    badge = SupplyBadge.of(await watch_supply(db))
    if (format or _preferred(accept)) == "json":
        return JSONResponse(Badge.of(badge).model_dump(), headers=BADGE_HEADERS)
    return Response(draw(badge), media_type="image/svg+xml", headers=BADGE_HEADERS)


@router.get(
    "/projections/supply-audit", responses=problems(Invalid, Unauthorized, LicenceSuspended, Unavailable)
)
async def read_supply_audit(
    _: InternalCaller,
    db: Db,
    full: Annotated[bool, Query(description="Recompute everything from the first event.")] = False,
) -> SupplyAudit:
    """The supply audit of every account, from the last checkpoint or from the first event."""
    bridges = await db.read(read_bridges)
    if full:
        verdict = await db.transaction(audit_from_zero, one_snapshot=True)
        return SupplyAudit.of(verdict.supply, verdict.status, bridges)
    watch = await watch_supply(db)
    return SupplyAudit.of(watch.supply, watch.status, bridges)


def _preferred(accept: str) -> str:
    """JSON only for those who name it and name no image."""
    return "json" if "application/json" in accept and "image/" not in accept else "svg"
