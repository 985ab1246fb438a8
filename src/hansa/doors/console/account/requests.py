"""The last API calls of the account and its agents: request, outcome and duration. No bodies."""

from typing import Annotated, Literal
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse

from hansa.doors.console.access import SignedInPerson, account_page
from hansa.foundation.plumbing.process.runtime import Db, runtime_of
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.rooms import people

router = APIRouter(
    include_in_schema=False,
    default_response_class=HTMLResponse,
    route_class=LazyRoute,
    dependencies=[Depends(within_read_limit)],
)

CALLS_ON_A_PAGE = 100
PAGES_MAX = 1000


@router.get("/account/requests")
async def show_requests(
    person: SignedInPerson,
    request: Request,
    db: Db,
    number: Annotated[int, Query(alias="page", ge=1, le=PAGES_MAX)] = 1,
    *,
    outcome: Annotated[Literal["", "2", "3", "4", "5"], Query()] = "",
    route: Annotated[str, Query(max_length=120)] = "",
) -> HTMLResponse:
    """The last calls of an outcome, and of a route, a request or an idempotency key, the newest first; those of this process up to now."""
    await people.write_calls(runtime_of(request))
    offset = (number - 1) * CALLS_ON_A_PAGE
    calls, total = await db.read(
        lambda tx: people.calls_of(
            tx,
            person.developer.id,
            hundreds=int(outcome) if outcome else None,
            named=route.strip(),
            limit=CALLS_ON_A_PAGE,
            offset=offset,
        )
    )
    return account_page(
        request,
        "account/requests.html",
        person,
        calls=calls,
        total=total,
        number=number,
        outcome=outcome,
        route=route,
        filters=urlencode({"outcome": outcome, "route": route}),
        is_last=offset + len(calls) >= total,
    )
