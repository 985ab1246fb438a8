"""The board of work orders: work that organizations offer, the units that are held for it, and each order by itself."""

from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse

from hansa.doors.console.api_acts import API
from hansa.doors.console.rendering import page
from hansa.doors.console.work_orders import order_in, read_order
from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.web.caller import Public
from hansa.foundation.plumbing.web.in_process import InnerCall, call_within
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.foundation.plumbing.web.limits import within_read_limit

router = APIRouter(
    include_in_schema=False,
    default_response_class=HTMLResponse,
    route_class=LazyRoute,
    dependencies=[Depends(within_read_limit)],
)

ORDERS_SHOWN = 20
STATUSES = (("OPEN", "Open"), ("AWARDED", "Awarded"), ("CANCELLED", "Cancelled"), ("EXPIRED", "Expired"))
Words = Annotated[str, Query(max_length=200)]
Skill = Annotated[str, Query(max_length=64)]
Offset = Annotated[int, Query(ge=0, le=10**9)]


@router.get("/work")
async def show_board(
    _: Public,
    request: Request,
    settings: Config,
    *,
    q: Words = "",
    skill: Skill = "",
    status: Literal["", "OPEN", "AWARDED", "CANCELLED", "EXPIRED"] = "OPEN",
    offset: Offset = 0,
) -> HTMLResponse:
    """Work orders of all organizations, the newest first."""
    wanted = {"q": q.strip(), "skill": skill.strip(), "status": status}
    query = {name: value for name, value in wanted.items() if value}
    asked = InnerCall("GET", f"{API}/work-orders", {**query, "limit": ORDERS_SHOWN, "offset": offset})
    found = await call_within(request, asked, None)
    return page(
        request,
        "work/board.html",
        orders=[order_in(one) for one in found.content["items"]],
        total=found.content["pagination"]["total_items"],
        query=query,
        wanted=wanted,
        statuses=STATUSES,
        offset=offset,
        shown_at_most=ORDERS_SHOWN,
        currency=settings.settlement_currency,
    )


@router.get("/work/{work_order_id}")
async def show_order(
    _: Public, work_order_id: UUID, request: Request, db: Db, settings: Config
) -> HTMLResponse:
    """One work order. Raises: WorkOrderUnknown."""
    order = await db.read(lambda tx: read_order(tx, work_order_id))
    return page(request, "work/order.html", order=order, currency=settings.settlement_currency)
