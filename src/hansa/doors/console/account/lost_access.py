"""When the password or the second factor is lost: a mailed link, or a recovery key."""

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import (
    OpenForm,
    SentForm,
    Visiting,
    Visitor,
    VisitorAct,
    form_page,
    see_other,
    try_once,
)
from hansa.doors.console.access.cookies import PARTIAL_LOGIN
from hansa.foundation.plumbing.process.runtime import Config, Db, Sealing, Tokens, runtime_of
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Public
from hansa.foundation.plumbing.web.cookies import cookie_of, drop_cookie
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.foundation.plumbing.web.limits import limited, within_read_limit
from hansa.foundation.values.errors import Refused, Unauthorized
from hansa.foundation.values.lazy_model import LazyModel
from hansa.rooms import people

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse, route_class=LazyRoute)


class PasswordRight(LazyModel):
    """The token that sets a new password, once."""

    token: str


@router.get("/forgot-password", dependencies=[Depends(within_read_limit)])
async def show_forgotten(_: Public, request: Request) -> Response:
    """Ask for a link to set a new password."""
    return form_page(request, "account/forgot-password.html", is_sent=False)


@router.post("/forgot-password", dependencies=[Depends(limited(people.FORGOTTEN_PER_ADDRESS))])
async def request_link(_: Public, request: Request, form: OpenForm, db: Db) -> Response:
    """Mail the link; the answer does not depend on whether the account exists."""
    try:
        asked = form.read_as(people.ForgottenIn)
        await people.forget_password(db, asked.email)
    except Refused as refusal:
        return form_page(
            request,
            "account/forgot-password.html",
            form.refused(refusal),
            status=refusal.status,
            is_sent=False,
        )
    return form_page(request, "account/forgot-password.html", is_sent=True)


@router.get("/recover", dependencies=[Depends(within_read_limit)])
async def show_recovery(_: Public, request: Request, visitor: Visitor) -> Response:
    """The form that takes a recovery key."""
    return form_page(request, "account/recover.html", visitor=visitor)


@router.post("/recover", dependencies=[Depends(limited(people.RECOVERIES_PER_ADDRESS))])
async def recover(
    _: Public, request: Request, visitor: VisitorAct, *, db: Db, seal: Sealing, tokens: Tokens
) -> Response:
    """Use a recovery key up, and ask for the new password."""
    try:
        asked = visitor.form.read_as(people.RecoveryIn)
        await people.admit_recovery(db, asked.email)

        async def recovered(tx: Tx) -> PasswordRight:
            token = await people.recover_account(tx, seal, tokens, asked.email, asked.recovery_key)
            return PasswordRight(token=token)

        right = await try_once(request, visitor, PasswordRight, recovered)
        assert right is not None
    except Refused as refusal:
        return _recovery_form(request, visitor, refusal)
    return form_page(request, "account/new-password.html", password_token=right.token)


@router.post("/set-password", dependencies=[Depends(limited(people.RECOVERIES_PER_ADDRESS))])
async def set_password(_: Public, request: Request, form: OpenForm, db: Db, seal: Sealing) -> Response:
    """Set the password with the token of a recovery; every session ends."""
    token = form.value("password_token")
    try:
        setter = await people.check_password_setter(runtime_of(request), token)
    except Unauthorized:
        return form_page(request, "account/new-password.html", status=401, password_token="")
    try:
        asked = form.read_as(people.SetPasswordIn)
        await people.set_forgotten_password(db, seal, setter, asked)
    except Refused as refusal:
        stored = "" if isinstance(refusal, Unauthorized) else token
        refused = form.refused(refusal)
        return form_page(
            request, "account/new-password.html", refused, status=refusal.status, password_token=stored
        )
    return see_other("/login?notice=password")


@router.get("/recover/two-factor", dependencies=[Depends(within_read_limit)])
async def show_second_factor_recovery(_: Public, request: Request) -> Response:
    """Turn two-factor login off with a recovery key, after the password was right."""
    return form_page(request, "account/recover-two-factor.html")


@router.post("/recover/two-factor", dependencies=[Depends(limited(people.RECOVERIES_PER_ADDRESS))])
async def recover_second_factor(
    _: Public, request: Request, form: OpenForm, *, db: Db, settings: Config, seal: Sealing
) -> Response:
    """Use a recovery key up and turn two-factor login off for the login that waits for its code."""
    partial_token = cookie_of(request, settings, PARTIAL_LOGIN)
    try:
        asked = form.read_as(people.RecoverIn, partial_token=partial_token)
        if not await db.transaction(
            lambda tx: people.recover_second_factor(tx, seal, None, asked.partial_token, asked.recovery_key)
        ):
            raise people.RecoveryRefused(field="recovery_key")
    except Refused as refusal:
        return form_page(
            request, "account/recover-two-factor.html", _expired(form, refusal), status=refusal.status
        )
    answer = see_other("/login?notice=one-factor")
    drop_cookie(answer, settings, PARTIAL_LOGIN)
    return answer


def _recovery_form(request: Request, visitor: Visiting, refusal: Refused) -> Response:
    return form_page(
        request,
        "account/recover.html",
        visitor.form.refused(refusal),
        status=refusal.status,
        visitor=visitor,
    )


def _expired(form: SentForm, refusal: Refused) -> SentForm:
    """The refusal of a login that has expired, where there is none that waits for a code."""
    if isinstance(refusal, Unauthorized) and not isinstance(refusal, people.RecoveryRefused):
        return form.refused(people.PartialTokenRefused())
    return form.refused(refusal)
