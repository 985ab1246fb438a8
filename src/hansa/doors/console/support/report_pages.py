"""Report an agent, without a login. The form and the API share the limit of an address."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import (
    SentForm,
    Visiting,
    Visitor,
    VisitorAct,
    act_once,
    form_page,
)
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Public
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.foundation.plumbing.web.limits import limited, within_read_limit
from hansa.foundation.values.errors import Refused
from hansa.foundation.values.lazy_model import LazyModel
from hansa.rooms import support

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse, route_class=LazyRoute)


class Reported(LazyModel):
    """The report is stored."""


@router.get("/report", dependencies=[Depends(within_read_limit)])
async def show_report(
    _: Public,
    request: Request,
    visitor: Visitor,
    agent: Annotated[str, Query(max_length=512)] = "",
) -> Response:
    """The form of a report, for the agent in the address."""
    return _page(request, visitor, SentForm(), did=agent)


@router.post("/report", dependencies=[Depends(limited(support.REPORTS))])
async def report(_: Public, request: Request, visitor: VisitorAct) -> Response:
    """Store a report."""
    form = visitor.form
    try:
        stated = form.read_as(support.AgentReportIn).report()

        async def stored(tx: Tx) -> Reported:
            await support.report_agent(tx, stated)
            return Reported()

        await act_once(request, visitor, Reported, stored)
    except Refused as refusal:
        return _page(request, visitor, form.refused(refusal), status=refusal.status)
    return _page(request, visitor, form, is_done=True)


def _page(
    request: Request,
    visitor: Visiting,
    form: SentForm,
    *,
    did: str = "",
    is_done: bool = False,
    status: int = 200,
) -> Response:
    return form_page(
        request, "support/report.html", form, status=status, visitor=visitor, did=did, is_done=is_done
    )
