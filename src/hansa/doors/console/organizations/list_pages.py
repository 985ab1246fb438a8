"""Organizations of a person: the list, the pending invitations to the own address, and a new organization."""

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import Act, SentForm, SignedIn, SignedInPerson, account_page, see_other
from hansa.doors.console.api_acts import act_as_person
from hansa.foundation.plumbing.process.runtime import Db
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.rooms import organizations

from .pages import LIST

router = APIRouter(
    include_in_schema=False,
    default_response_class=HTMLResponse,
    route_class=LazyRoute,
    dependencies=[Depends(within_read_limit)],
)

SHOWN = 100


@router.get(LIST)
async def show_organizations(person: SignedInPerson, request: Request, db: Db) -> HTMLResponse:
    """The organizations of the person, with the role in each, and the form of a new one."""
    return await _page(request, person, db)


@router.post(LIST)
async def found_organization(sender: Act, request: Request, db: Db) -> Response:
    """Found an organization with the person as its owner."""
    form = sender.form
    body = {name: form.value(name).strip() for name in ("slug", "name", "description")}
    body["visibility"] = form.value("visibility") or "private"
    answer = await act_as_person(request, sender, "POST", "/organizations", body)
    if answer.is_refused:
        return await _page(request, sender.person, db, answer.on(form), status=answer.status)
    return see_other(f"{LIST}/{answer.document['slug']}?done=founded")


async def _page(
    request: Request, person: SignedIn, db: Db, form: SentForm | None = None, *, status: int = 200
) -> HTMLResponse:
    async def reading(
        tx: Tx,
    ) -> tuple[list[organizations.Shown], int, list[organizations.OwnInvitation]]:
        shown, total = await organizations.own_organizations(tx, person.developer.id, limit=SHOWN, offset=0)
        invitations, _ = await organizations.own_invitations(tx, person.developer, limit=SHOWN, offset=0)
        return shown, total, invitations

    shown, total, invitations = await db.read(reading)
    return account_page(
        request,
        "organizations/list.html",
        person,
        form,
        status=status,
        shown=shown,
        total=total,
        invitations=invitations,
        done=request.query_params.get("done", ""),
    )
