"""Sign up: an account with three recovery keys that are shown once."""

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import (
    FormRefused,
    SentForm,
    Visiting,
    Visitor,
    VisitorAct,
    act_once,
    form_page,
)
from hansa.foundation.plumbing.process.runtime import Config, Sealing
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Public
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.foundation.plumbing.web.limits import limited, within_read_limit
from hansa.foundation.values.errors import Refused
from hansa.foundation.values.lazy_model import LazyModel
from hansa.rooms import people

from .text_file import text_file

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse, route_class=LazyRoute)

# What a form calls otherwise than the API.
SENTENCES = {
    "TOS_NOT_ACCEPTED": "Accept the terms of use and the privacy statement to sign up.",
    "AGE_CONFIRMATION_REQUIRED": "Confirm that you are old enough for an account.",
    "INVITE_CODE_MISSING": "This registry requires an invitation code.",
}


class SignedUp(LazyModel):
    """Recovery keys of a new account, shown once."""

    recovery_keys: list[str]


@router.get("/sign-up", dependencies=[Depends(within_read_limit)])
async def show_sign_up(_: Public, request: Request, visitor: Visitor) -> Response:
    """The form of a new account. A link brings the invitation code in its fragment, which no server receives."""
    return _form(request, visitor, SentForm())


@router.post("/sign-up", dependencies=[Depends(limited(people.REGISTRATIONS))])
async def sign_up(
    _: Public, request: Request, visitor: VisitorAct, *, settings: Config, seal: Sealing
) -> Response:
    """Register a developer, and show the recovery keys."""
    form = visitor.form
    try:
        asked = form.read_as(
            people.RegistrationIn,
            tos_accepted=form.value("tos_accepted") == "true",
            age_confirmed=form.value("age_confirmed") == "true",
        )
        developer = await people.admit_registration(asked, settings)

        async def register(tx: Tx) -> SignedUp:
            keys = await people.register(
                tx, seal, developer, settings.base_url, invite_code=asked.invite_code
            )
            return SignedUp(recovery_keys=keys)

        signed_up = await act_once(request, visitor, SignedUp, register)
    except Refused as refusal:
        return _form(request, visitor, form.refused(_readable(refusal)), status=refusal.status)
    return form_page(
        request,
        "account/signed-up.html",
        keys=signed_up.recovery_keys,
        email=asked.email,
        keys_file=text_file("\n".join(signed_up.recovery_keys)),
    )


def _readable(refusal: Refused) -> Refused:
    """The refusal without the names of the API's members."""
    if refusal.code not in SENTENCES or refusal.field is None:
        return refusal
    return FormRefused({refusal.field: SENTENCES[refusal.code]})


def _form(request: Request, visitor: Visiting, form: SentForm, *, status: int = 200) -> Response:
    return form_page(request, "account/sign-up.html", form, status=status, visitor=visitor)
