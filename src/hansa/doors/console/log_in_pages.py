"""Log in, with a second factor where it is on, and log out. Every login has a new session token."""

import json
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse, JSONResponse, Response
from pydantic import Field

from hansa.doors.console.access import OpenForm, SentForm, see_other
from hansa.doors.console.access.cookies import (
    PARTIAL_LOGIN,
    PARTIAL_LOGIN_SECONDS,
    SESSION,
    drop_session,
    set_session,
)
from hansa.doors.console.access.errors import ConsoleNeedsHttps
from hansa.doors.console.access.forms import RESUME_FIELD
from hansa.doors.console.access.pages import form_page, own_path
from hansa.doors.console.access.resume import sealed_form
from hansa.doors.console.account.phones import credential_of
from hansa.foundation.plumbing.keys.seal import Seal
from hansa.foundation.plumbing.process.runtime import Config, Db, Sealing
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.web.caller import Public
from hansa.foundation.plumbing.web.cookies import cookie_of, drop_cookie, may_log_in, set_cookie
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.foundation.plumbing.web.limits import limited, within_read_limit
from hansa.foundation.values.errors import Refused
from hansa.foundation.values.lazy_model import LazyModel
from hansa.rooms import people

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse, route_class=LazyRoute)

# A request of a connected client, which the login leads back to, holds the signed metadata of the client.
TARGET_MAX_CHARACTERS = 8000


class LoginFields(LazyModel):
    """A login."""

    email: Annotated[str, Field(min_length=1, max_length=254)]
    password: Annotated[str, Field(min_length=1, max_length=1024, repr=False)]


class CodeFields(LazyModel):
    """The second step of a login."""

    code: Annotated[str, Field(min_length=1, max_length=64, repr=False)]


@router.get("/login", dependencies=[Depends(within_read_limit)])
async def show_login(
    _: Public,
    request: Request,
    db: Db,
    settings: Config,
    next_page: Annotated[str, Query(alias="next", max_length=TARGET_MAX_CHARACTERS)] = "",
) -> Response:
    """The login; who is logged in already goes where it leads."""
    token = cookie_of(request, settings, SESSION)
    if token and await people.check_browser_session(db, token):
        return see_other(own_path(next_page))
    return _login_page(request, SentForm(), next_page=next_page)


@router.post("/login", dependencies=[Depends(limited(people.LOGINS_PER_ADDRESS))])
async def log_in(
    _: Public, request: Request, form: OpenForm, *, db: Db, settings: Config, seal: Sealing
) -> Response:
    """Log in, or begin a login that needs a code."""
    if not may_log_in(settings):
        raise ConsoleNeedsHttps
    try:
        fields = form.read_as(LoginFields)
        opened = await people.log_in_browser(
            db, seal, settings, email=fields.email, password=fields.password, client=people.Client.of(request)
        )
    except Refused as refusal:
        return _login_page(request, form.refused(refusal), status=refusal.status, refusal=refusal)
    if isinstance(opened, people.PartialLogin):
        answer: Response = await _second_page(request, db, settings, form, opened.partial_token)
        set_cookie(answer, settings, PARTIAL_LOGIN, opened.partial_token, PARTIAL_LOGIN_SECONDS)
        return answer
    return await _logged_in(request, db, seal, settings, form, opened=opened)


@router.get("/login/phone/state", dependencies=[Depends(within_read_limit)])
async def read_phone_state(_: Public, request: Request, db: Db, settings: Config) -> Response:
    """The status of the login of this browser that phones were asked about, for the script of its page."""
    token = cookie_of(request, settings, PARTIAL_LOGIN) or ""
    state = await db.query(lambda tx: people.state_of_phone_login(tx, token))
    return JSONResponse({"state": state}, headers={"Cache-Control": "no-store"})


@router.post("/login/phone", dependencies=[Depends(limited(people.CODES_PER_ADDRESS))])
async def finish_after_approval(
    _: Public, request: Request, form: OpenForm, *, db: Db, settings: Config, seal: Sealing
) -> Response:
    """Finish a login that a phone approved; otherwise show how it stands."""
    partial_token = cookie_of(request, settings, PARTIAL_LOGIN) or ""
    opened = await people.finish_login_by_phone(
        db, partial_token=partial_token, client=people.Client.of(request)
    )
    if opened is None:
        return await _second_page(request, db, settings, form, partial_token)
    return await _finished(request, db, seal, settings, form, opened=opened)


@router.post("/login/passkey", dependencies=[Depends(limited(people.CODES_PER_ADDRESS))])
async def finish_with_passkey(
    _: Public, request: Request, form: OpenForm, *, db: Db, settings: Config, seal: Sealing
) -> Response:
    """Finish a login with a passkey of this browser."""
    partial_token = cookie_of(request, settings, PARTIAL_LOGIN) or ""
    try:
        assertion = credential_of(form)
        opened = await people.finish_login_by_passkey(
            db,
            settings,
            partial_token=partial_token,
            assertion=assertion,
            client=people.Client.of(request),
        )
    except Refused as refusal:
        return await _second_page(
            request, db, settings, form.refused(refusal), partial_token, status=refusal.status
        )
    return await _finished(request, db, seal, settings, form, opened=opened)


@router.post("/login/code", dependencies=[Depends(limited(people.CODES_PER_ADDRESS))])
async def finish_login(
    _: Public, request: Request, form: OpenForm, *, db: Db, settings: Config, seal: Sealing
) -> Response:
    """Finish a login with a code of the app or a backup code."""
    partial_token = cookie_of(request, settings, PARTIAL_LOGIN) or ""
    try:
        fields = form.read_as(CodeFields)
        opened = await people.finish_browser_login(
            db, seal, partial_token=partial_token, code=fields.code, client=people.Client.of(request)
        )
    except Refused as refusal:
        return await _second_page(
            request, db, settings, form.refused(refusal), partial_token, status=refusal.status
        )
    return await _finished(request, db, seal, settings, form, opened=opened)


@router.post("/logout")
async def log_out(_: Public, request: Request, form: OpenForm, db: Db, settings: Config) -> Response:
    """End the session of this browser, if it has one."""
    del form
    await _end_session(request, db, settings)
    answer = see_other("/login?notice=logged-out")
    drop_session(answer, settings)
    return answer


async def _end_session(request: Request, db: Db, settings: Settings) -> None:
    token = cookie_of(request, settings, SESSION)
    session = await people.check_browser_session(db, token) if token else None
    if session:
        await db.transaction(lambda tx: people.end_one_if_open(tx, session.developer.id, session.id))


async def _logged_in(
    request: Request,
    db: Db,
    seal: Seal,
    settings: Settings,
    form: SentForm,
    *,
    opened: people.OpenBrowserSession,
) -> Response:
    """The session of a browser that logs in again ends; a form that was kept can be sent now."""
    await _end_session(request, db, settings)
    stored = sealed_form(seal, form.value(RESUME_FIELD))
    answer: Response = (
        form_page(request, "resume.html", kept=stored) if stored else see_other(own_path(form.value("next")))
    )
    set_session(answer, settings, opened.token)
    return answer


async def _finished(
    request: Request,
    db: Db,
    seal: Seal,
    settings: Settings,
    form: SentForm,
    *,
    opened: people.OpenBrowserSession,
) -> Response:
    answer = await _logged_in(request, db, seal, settings, form, opened=opened)
    drop_cookie(answer, settings, PARTIAL_LOGIN)
    return answer


def _login_page(
    request: Request,
    form: SentForm,
    *,
    status: int = 200,
    next_page: str = "",
    refusal: Refused | None = None,
) -> HTMLResponse:
    unverified = isinstance(refusal, people.EmailUnverified)
    return form_page(
        request,
        "login.html",
        form,
        status=status,
        resume=form.value(RESUME_FIELD),
        next=form.value("next") or next_page,
        notice="unverified" if unverified else request.query_params.get("notice", ""),
    )


async def _second_page(
    request: Request, db: Db, settings: Settings, form: SentForm, partial_token: str, *, status: int = 200
) -> HTMLResponse:
    """The page of the second factor: a code, or the number for the phone where the account has one."""
    offers = await db.transaction(lambda tx: people.second_step_of(tx, settings, partial_token))
    if offers is None and not form.message:
        gone = people.PartialTokenRefused()
        form, status = form.refused(gone), gone.status
    has_phones = offers is not None and bool(offers.phone or offers.passkey or not offers.asks_code)
    return form_page(
        request,
        "login-phone.html" if has_phones else "login-code.html",
        form,
        status=status,
        offers=offers,
        passkey_options=json.dumps(offers.passkey) if offers and offers.passkey else "",
        phone_address=f"{settings.base_url}/phone",
        resume=form.value(RESUME_FIELD),
        next=form.value("next"),
    )
