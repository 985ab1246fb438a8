"""The acceptance of terms that are newer than those that the account accepted."""

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import AccountAct, SignedInPerson, account_page, see_other
from hansa.foundation.plumbing.process.runtime import Config, Db
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


@router.get("/account/terms")
async def show_acceptance(person: SignedInPerson, request: Request) -> HTMLResponse:
    """The form that accepts the present terms."""
    return account_page(request, "account/terms.html", person)


@router.post("/account/terms")
async def accept_terms(sender: AccountAct, request: Request, db: Db, settings: Config) -> Response:
    """Accept the version that the form showed."""
    try:
        asked = sender.form.read_as(people.AcceptTermsIn)
        developer = sender.person.developer
        await db.transaction(lambda tx: people.accept_terms(tx, developer, asked.tos_version, settings))
    except Refused as refusal:
        refused = sender.form.refused(refusal)
        return account_page(request, "account/terms.html", sender.person, refused, status=refusal.status)
    return see_other("/account")
