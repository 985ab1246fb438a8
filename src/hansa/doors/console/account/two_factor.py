"""Two-factor login: set up with a QR code, turned on with the first code of the app, turned off with both factors."""

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, Response
from markupsafe import Markup

from hansa.doors.console.access import (
    AccountAct,
    SentForm,
    SignedIn,
    SignedInPerson,
    account_page,
    act_once,
    see_other,
    try_once,
)
from hansa.foundation.plumbing.process.runtime import Config, Db, Sealing
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.foundation.values.errors import Refused
from hansa.foundation.values.lazy_model import LazyModel
from hansa.rooms import people

from .text_file import text_file

router = APIRouter(
    include_in_schema=False,
    default_response_class=HTMLResponse,
    route_class=LazyRoute,
    dependencies=[Depends(within_read_limit)],
)


class BackupCodes(LazyModel):
    """Codes that replace the app, shown once."""

    codes: list[str]


@router.get("/account/two-factor")
async def show_two_factor(person: SignedInPerson, request: Request) -> HTMLResponse:
    """Show whether two-factor login is on, and the form that changes it."""
    return _state(request, person)


@router.post("/account/two-factor/set-up")
async def set_up(sender: AccountAct, request: Request, settings: Config, seal: Sealing) -> Response:
    """Make a seed for the app and show it as a QR code and as text."""
    person = sender.person

    async def begun(tx: Tx) -> people.SetupOut:
        app = await people.begin_setup(tx, seal, person.developer, settings.registry_name)
        return people.SetupOut(secret=app.seed, otpauth_uri=app.otpauth_uri, qr_svg=app.qr_svg())

    try:
        app = await act_once(request, sender, people.SetupOut, begun)
    except Refused as refusal:
        return _state(request, person, sender.form.refused(refusal), status=refusal.status)
    # Made here of base32 text alone.
    picture = Markup(app.qr_svg)  # noqa: S704
    return account_page(request, "account/two-factor-app.html", person, app=app, picture=picture)


@router.post("/account/two-factor/turn-on")
async def turn_on(sender: AccountAct, request: Request, seal: Sealing) -> Response:
    """Turn it on with the first code of the app, and show the backup codes."""
    person = sender.person
    try:
        asked = sender.form.read_as(people.VerifyIn)

        async def turned_on(tx: Tx) -> BackupCodes | None:
            codes = await people.turn_on(tx, seal, person.developer, asked.code)
            return None if codes is None else BackupCodes(codes=codes)

        backup = await try_once(request, sender, BackupCodes, turned_on)
        if backup is None:
            raise people.CodeWrong(field="code")
    except Refused as refusal:
        refused = sender.form.refused(refusal)
        return account_page(
            request, "account/two-factor-app.html", person, refused, status=refusal.status, app=None
        )
    return account_page(
        request,
        "account/two-factor-on.html",
        person,
        codes=backup.codes,
        codes_file=text_file("\n".join(backup.codes)),
    )


@router.post("/account/two-factor/turn-off")
async def turn_off(sender: AccountAct, request: Request, db: Db, seal: Sealing) -> Response:
    """Turn it off, with the password and a code."""
    developer = sender.person.developer
    try:
        asked = sender.form.read_as(people.DisableIn)
        await people.prove_password(db, developer, asked.password)
        if not await db.transaction(lambda tx: people.turn_off(tx, seal, developer, asked.code)):
            raise people.CodeWrong(field="code")
    except Refused as refusal:
        return _state(request, sender.person, sender.form.refused(refusal), status=refusal.status)
    return see_other("/account/two-factor?done=off")


def _state(
    request: Request, person: SignedIn, form: SentForm | None = None, *, status: int = 200
) -> HTMLResponse:
    return account_page(
        request,
        "account/two-factor.html",
        person,
        form,
        status=status,
        done=request.query_params.get("done", ""),
    )
