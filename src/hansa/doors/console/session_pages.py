"""The sessions of a person, and the password given again before something dangerous."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, Response
from pydantic import Field

from hansa.doors.console.access import AccountAct, SignedInPerson, account_page, person_of, see_other
from hansa.doors.console.access.cookies import drop_session
from hansa.doors.console.access.forms import RESUME_FIELD
from hansa.doors.console.access.pages import FORM_HEADERS, own_path
from hansa.doors.console.access.resume import sealed_form
from hansa.doors.console.rendering import part
from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.web.caller import Public
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.foundation.values.errors import Refused
from hansa.foundation.values.lazy_model import LazyModel
from hansa.rooms import people

router = APIRouter(
    include_in_schema=False,
    default_response_class=HTMLResponse,
    route_class=LazyRoute,
    dependencies=[Depends(within_read_limit)],
)

SESSIONS_SHOWN = 100


class PasswordFields(LazyModel):
    """The password, given again."""

    password: Annotated[str, Field(min_length=1, max_length=1024, repr=False)]


@router.get("/session/menu")
async def show_session_menu(_: Public, request: Request, settings: Config) -> HTMLResponse:
    """Part of a page: the menu of the session of this browser, or the links of a visitor who has none.

    Pages that are the same for everybody load it where the browser has logged in.
    """
    person = await person_of(request)
    answer = HTMLResponse(part("session-menu.html", person=person), headers=FORM_HEADERS)
    if person is None:
        drop_session(answer, settings)
    return answer


@router.get("/account/sessions")
async def show_sessions(person: SignedInPerson, request: Request, db: Db) -> HTMLResponse:
    """Show the sessions in which the account is logged in."""
    total, shown = await db.read(
        lambda tx: people.open_ones(tx, person.developer, limit=SESSIONS_SHOWN, offset=0)
    )
    return account_page(
        request,
        "sessions.html",
        person,
        sessions=shown,
        total=total,
        done=request.query_params.get("done", ""),
    )


@router.post("/account/sessions/{session_id:uuid}/end")
async def end_session(session_id: UUID, sender: AccountAct, db: Db, settings: Config) -> Response:
    """End one session of the account; the one of this browser leads to the login."""
    person = sender.person
    await db.transaction(lambda tx: people.end_one_if_open(tx, person.developer.id, session_id))
    if session_id == person.session.id:
        return _logged_out(settings)
    return see_other("/account/sessions?done=ended")


@router.post("/account/sessions/end-all")
async def end_all_sessions(sender: AccountAct, db: Db, settings: Config) -> Response:
    """End every session of the account, also the one of this browser."""
    await db.transaction(lambda tx: people.end_all(tx, sender.person.developer.id))
    return _logged_out(settings)


@router.post("/confirm")
async def confirm(sender: AccountAct, request: Request, db: Db) -> Response:
    """Give the password again; then the form that needed it can be sent."""
    person, form = sender.person, sender.form
    resume = form.value(RESUME_FIELD)
    try:
        fields = form.read_as(PasswordFields)
        await people.confirm_password(db, person.developer, person.session.id, fields.password)
    except Refused as refusal:
        return account_page(
            request,
            "confirm.html",
            person,
            form.refused(refusal),
            status=refusal.status,
            resume=resume,
            next=form.value("next"),
        )
    stored = sealed_form(person.seal, resume)
    if stored:
        return account_page(request, "resume.html", person, kept=stored)
    return see_other(own_path(form.value("next")))


def _logged_out(settings: Config) -> Response:
    answer = see_other("/login?notice=logged-out")
    drop_session(answer, settings)
    return answer
