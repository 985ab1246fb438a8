"""The deletion of the account: requested, cooled off, cancelled; its blockers are listed."""

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import (
    AccountAct,
    ProvedAccountAct,
    SentForm,
    SignedIn,
    SignedInPerson,
    account_page,
    see_other,
)
from hansa.foundation.plumbing.process.runtime import Config, Db, Sealing, runtime_of
from hansa.foundation.plumbing.room import ACCOUNT_END
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.foundation.values.errors import Refused
from hansa.rooms import people

router = APIRouter(
    include_in_schema=False,
    default_response_class=HTMLResponse,
    route_class=LazyRoute,
    dependencies=[Depends(within_read_limit)],
)


@router.get("/account/deletion")
async def show_deletion(person: SignedInPerson, request: Request, db: Db, settings: Config) -> HTMLResponse:
    """Show whether the account is to be deleted, when, and the blockers."""
    return await _state(request, person, db, settings)


@router.post("/account/deletion/request-deletion")
async def request_deletion(
    sender: ProvedAccountAct, request: Request, *, db: Db, settings: Config, seal: Sealing
) -> Response:
    """Delete the account after the cooling-off period."""
    account_end = ACCOUNT_END.of(runtime_of(request))
    days = settings.account_deletion_cooling_off_days
    try:
        await db.transaction(
            lambda tx: people.request_deletion(
                tx, seal, sender.person.developer, account_end, cooling_off_days=days
            )
        )
    except Refused as refusal:
        refused = sender.form.refused(refusal)
        return await _state(request, sender.person, db, settings, refused, status=refusal.status)
    return see_other("/account/deletion")


@router.post("/account/deletion/cancel")
async def cancel_deletion(sender: AccountAct, request: Request, db: Db, settings: Config) -> Response:
    """Keep the account after all."""
    try:
        await db.transaction(lambda tx: people.cancel_deletion(tx, sender.person.developer))
    except Refused as refusal:
        refused = sender.form.refused(refusal)
        return await _state(request, sender.person, db, settings, refused, status=refusal.status)
    return see_other("/account/deletion")


async def _state(
    request: Request,
    person: SignedIn,
    db: Db,
    settings: Config,
    form: SentForm | None = None,
    *,
    status: int = 200,
) -> HTMLResponse:
    account_end = ACCOUNT_END.of(runtime_of(request))
    found = await db.read(lambda tx: people.deletion_status_of(tx, person.developer, account_end))
    return account_page(
        request,
        "account/deletion.html",
        person,
        form,
        status=status,
        deletion=people.DeletionOut.of(found),
        days=settings.account_deletion_cooling_off_days,
    )
