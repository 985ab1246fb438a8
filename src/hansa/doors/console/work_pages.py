"""The board of work orders: work that organizations offer, the units that are held for it, and each order by itself."""

from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse

from hansa.doors.console.rendering import page
from hansa.doors.console.work_orders import order_in, orders_in, read
from hansa.foundation.plumbing.process.runtime import Config
from hansa.foundation.plumbing.web.caller import Public
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.rooms import treasury

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
    found = await read(request, "/work-orders", None, **query, limit=ORDERS_SHOWN, offset=offset)
    return page(
        request,
        "work/board.html",
        orders=orders_in(found.content["items"]),
        total=found.content["pagination"]["total_items"],
        query=query,
        wanted=wanted,
        statuses=STATUSES,
        offset=offset,
        shown_at_most=ORDERS_SHOWN,
        currency=settings.settlement_currency,
    )


@router.get("/work/{work_order_id}")
async def show_order(_: Public, work_order_id: UUID, request: Request, settings: Config) -> HTMLResponse:
    """One work order. Raises: WorkOrderUnknown."""
    found = await read(request, f"/work-orders/{work_order_id}", None)
    if found.is_refusal:
        raise treasury.WorkOrderUnknown
    return page(
        request,
        "work/order.html",
        order=order_in(found.content),
        currency=settings.settlement_currency,
    )
