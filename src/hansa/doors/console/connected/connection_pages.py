"""Connections of the account: what each client may do, its limits, and the end of it."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import (
    AccountAct,
    ProvedAct,
    SentForm,
    SignedIn,
    SignedInPerson,
    account_page,
    see_other,
)
from hansa.foundation.plumbing.process.runtime import Db
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import SPENT_UNDER_GRANTS, SpentUnderGrants
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.foundation.values.errors import Refused
from hansa.rooms import people

from .authorize_pages import ConsentFields

router = APIRouter(
    prefix="/account/connections",
    include_in_schema=False,
    default_response_class=HTMLResponse,
    route_class=LazyRoute,
    dependencies=[Depends(within_read_limit)],
)

CONNECTIONS = "/account/connections"
Spent = Annotated[SpentUnderGrants, Depends(SPENT_UNDER_GRANTS.given)]


@router.get("")
async def show_connections(person: SignedInPerson, request: Request, db: Db, spent: Spent) -> HTMLResponse:
    """The clients that may act for the account."""
    return await _page(request, person, db, spent)


@router.post("/{connection_id:uuid}/limits")
async def change_limits(
    connection_id: UUID, sender: ProvedAct, request: Request, db: Db, spent: Spent
) -> Response:
    """Change the limits of a connection."""
    person = sender.person
    try:
        limits = sender.form.read_as(ConsentFields, days=1).limits
        await db.transaction(
            lambda tx: people.change_connection(
                tx, person.developer.id, connection_id, people.Changes(limits=limits), is_proved=True
            )
        )
    except Refused as refusal:
        refused = sender.form.refused(refusal)
        return await _page(request, person, db, spent, refused, status=refusal.status)
    return see_other(f"{CONNECTIONS}?done=changed")


@router.post("/{connection_id:uuid}/end")
async def end(connection_id: UUID, sender: AccountAct, db: Db) -> Response:
    """End a connection; one that has ended is no trouble."""
    try:
        await db.transaction(lambda tx: people.end_connection(tx, sender.person.developer.id, connection_id))
    except people.ConnectionUnknown:
        return see_other(f"{CONNECTIONS}?done=gone")
    return see_other(f"{CONNECTIONS}?done=ended")


async def _page(
    request: Request,
    person: SignedIn,
    db: Db,
    spent: SpentUnderGrants,
    form: SentForm | None = None,
    *,
    status: int = 200,
) -> HTMLResponse:
    async def read(tx: Tx) -> list[people.ConnectionOut]:
        found, _ = await people.living_connections(tx, person.developer.id, limit=people.GRANTS_MAX, offset=0)
        return await people.connections_view(tx, found, spent)

    return account_page(
        request,
        "connected/connections.html",
        person,
        form,
        status=status,
        connections=await db.read(read),
        done=request.query_params.get("done", ""),
    )
