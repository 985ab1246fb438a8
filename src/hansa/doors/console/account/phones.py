"""Phones that approve logins: listed, added with a passkey of this browser, removed. The page of a phone that answers."""

import json
from typing import Any
from uuid import UUID

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import (
    FormRefused,
    ProvedAccountAct,
    SentForm,
    SignedIn,
    SignedInPerson,
    account_page,
    form_page,
    see_other,
)
from hansa.foundation.plumbing.process.runtime import Config, Db, Sealing
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

PAGE = "/account/phones"


class PhoneFields(LazyModel):
    """Name of a new phone."""

    name: people.PhoneName


@router.get(PAGE)
async def show_phones(person: SignedInPerson, request: Request, db: Db, settings: Config) -> HTMLResponse:
    """The phones of the account, and the form that adds this browser."""
    return await _phones(request, person, db, settings)


@router.post(f"{PAGE}/add")
async def begin(
    sender: ProvedAccountAct, request: Request, *, db: Db, settings: Config, seal: Sealing
) -> Response:
    """Ask the browser for a passkey."""
    person, form = sender.person, sender.form
    try:
        asked = form.read_as(people.PresenceIn)
        options = await db.transaction(
            lambda tx: people.begin_phone_enrolment(tx, seal, settings, person.developer, asked.totp_code)
        )
        if options is None:
            raise people.CodeWrong(field="totp_code")
    except Refused as refusal:
        return await _phones(request, person, db, settings, form.refused(refusal), status=refusal.status)
    return account_page(request, "account/phone-add.html", person, section=PAGE, options=json.dumps(options))


@router.post(PAGE)
async def enrol(
    sender: ProvedAccountAct, request: Request, *, db: Db, settings: Config, seal: Sealing
) -> Response:
    """Enrol this browser with the passkey that it made."""
    person, form = sender.person, sender.form
    try:
        name, credential = form.read_as(PhoneFields).name, credential_of(form)
        enrolled = await db.transaction(
            lambda tx: people.enrol_phone(
                tx, seal, settings, person.developer, name=name, credential=credential
            )
        )
        if enrolled is None:
            raise people.PasskeyRefused
    except Refused as refusal:
        return await _phones(request, person, db, settings, form.refused(refusal), status=refusal.status)
    answer = see_other(f"{PAGE}?done=added")
    people.set_phone_cookie(answer, settings, enrolled.token)
    return answer


@router.post(f"{PAGE}/{{device_id:uuid}}/remove")
async def remove(
    device_id: UUID, sender: ProvedAccountAct, request: Request, *, db: Db, settings: Config, seal: Sealing
) -> Response:
    """Remove a phone."""
    person, form = sender.person, sender.form
    try:
        asked = form.read_as(people.PresenceIn)
        if not await db.transaction(
            lambda tx: people.remove_phone(tx, seal, person.developer, device_id, asked.totp_code)
        ):
            raise people.CodeWrong(field="totp_code")
    except Refused as refusal:
        return await _phones(request, person, db, settings, form.refused(refusal), status=refusal.status)
    return see_other(f"{PAGE}?done=removed")


@router.get("/phone")
async def show_phone(_: Public, request: Request) -> HTMLResponse:
    """The page that stays open on a phone: logins that wait, the number to type, and the denial."""
    device = await people.phone_of(request)
    return form_page(
        request,
        "account/phone.html",
        device=device,
        credential_id=people.passkey_id_of(device) if device else "",
    )


def credential_of(form: SentForm) -> dict[str, Any]:
    """The answer of a passkey that a script put in the form. Raises: FormRefused."""
    try:
        credential = json.loads(form.value("credential"))
    except (ValueError, RecursionError):
        credential = None
    if not isinstance(credential, dict):
        raise FormRefused({"credential": "The browser sent no passkey; try again."})
    return credential


async def _phones(
    request: Request,
    person: SignedIn,
    db: Db,
    settings: Config,
    form: SentForm | None = None,
    *,
    status: int = 200,
) -> HTMLResponse:
    devices = await db.read(lambda tx: people.phones_of(tx, person.developer))
    return account_page(
        request,
        "account/phones.html",
        person,
        form,
        status=status,
        section=PAGE,
        devices=devices,
        has_passkeys=people.has_passkeys(settings),
        done=request.query_params.get("done", ""),
    )
