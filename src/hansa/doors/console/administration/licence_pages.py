"""Licence certificates for administrators of federation: the own one, and those that this registry issued."""

from typing import Annotated, Any, Literal

from fastapi import Path, Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import (
    Acting,
    FormRefused,
    SentForm,
    SignedIn,
    act_once,
    see_other,
    whole_number,
)
from hansa.foundation.plumbing.database import Database, Tx
from hansa.foundation.plumbing.runtime import Config, Db, Sealing
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.values.errors import Refused
from hansa.rooms import federation
from hansa_verify import read_certificate

from .pages import (
    SHOWN,
    Done,
    FederationAct,
    FederationAdministrator,
    Offset,
    administration_page,
    administration_router,
)

router = administration_router()

Lid = Annotated[str, Path(min_length=1, max_length=128, pattern=r"^[0-9A-Za-z-]+$")]
LICENCES = "/administration/licences"
REASON_MAX = 2000
FIELD_OF = {"sub.trust_domain": "trust_domain", "sub.name": "name", "sub.url": "url", "key.x": "key"}


@router.get("/administration/licences")
async def list_licences(
    person: FederationAdministrator, request: Request, db: Db, settings: Config, *, offset: Offset = 0
) -> HTMLResponse:
    """The certificate that this registry holds, and those that it issued, newest first."""
    return await _page(request, person, db, SentForm(), settings=settings, offset=offset)


@router.post("/administration/licences")
async def issue_licence(
    sender: FederationAct, request: Request, db: Db, settings: Config, seal: Sealing
) -> Response:
    """Issue a certificate: a genesis to a frame, a frame to an operator of its trust domain."""

    async def issued(tx: Tx) -> Done:
        asked = federation.certificate_request(_members(sender.form))
        await federation.issue_certificate(tx, sender.person.developer, settings, seal, asked)
        return Done()

    try:
        await act_once(request, sender, Done, issued)
    except Refused as refusal:
        return await _refused(request, sender, db, settings, refusal)
    return see_other(f"{LICENCES}?done=issued")


@router.post("/administration/licences/genesis")
async def issue_genesis(
    sender: FederationAct, request: Request, db: Db, settings: Config, seal: Sealing
) -> Response:
    """Issue the genesis certificate to this registry, once, and state it on the registry card."""

    async def issued(tx: Tx) -> Done:
        await federation.found_network(tx, sender.person.developer, settings, seal)
        return Done()

    try:
        await act_once(request, sender, Done, issued)
    except Refused as refusal:
        return await _refused(request, sender, db, settings, refusal)
    return see_other(f"{LICENCES}?done=genesis")


@router.post("/administration/licences/install")
async def install_licence(
    sender: FederationAct, request: Request, db: Db, settings: Config, seal: Sealing
) -> Response:
    """Install the certificate that the genesis issued to this registry, and state it on the registry card."""

    async def installed(tx: Tx) -> Done:
        delivered = federation.Delivered(body.certificate, body.chain)
        await federation.join_network(tx, sender.person.developer, settings, seal, delivered)
        return Done()

    try:
        certificate = sender.form.value("certificate").strip()
        body = sender.form.read_as(
            federation.InstallIn, certificate=certificate, chain=sender.form.value("chain").split()
        )
        await act_once(request, sender, Done, installed)
    except Refused as refusal:
        return await _refused(request, sender, db, settings, refusal)
    return see_other(f"{LICENCES}?done=installed")


@router.post("/administration/licences/{lid}/{act}")
async def change_licence(
    lid: Lid,
    act: Literal["suspend", "reinstate", "revoke"],
    sender: FederationAct,
    request: Request,
    db: Db,
    *,
    settings: Config,
) -> Response:
    """Suspend, reinstate or revoke the certificates of a subject."""
    reason = sender.form.value("reason").strip()

    async def changed(tx: Tx) -> Done:
        change = federation.CertificateAct(lid, act, reason)
        await federation.change_certificate(tx, sender.person.developer, settings, change)
        return Done()

    try:
        if not 0 < len(reason) <= REASON_MAX:
            raise FormRefused({"reason": f"A reason of at most {REASON_MAX} characters is required."})
        await act_once(request, sender, Done, changed)
    except Refused as refusal:
        return await _refused(request, sender, db, settings, refusal)
    return see_other(f"{LICENCES}?done={act}")


def _members(form: SentForm) -> dict[str, Any]:
    """The form as the API takes it."""
    given = {
        name: form.value(name).strip() for name in ("trust_domain", "name", "url", "plan", "key", "days")
    }
    subject = {name: given[name] for name in ("trust_domain", "name")}
    members: dict[str, Any] = {
        "sub": {**subject, **({"url": given["url"]} if given["url"] else {})},
        "plan": given["plan"],
    }
    if given["key"]:
        members["key"] = {"kty": "OKP", "crv": "Ed25519", "x": given["key"]}
    if given["days"]:
        members["days"] = whole_number(given["days"])
    return members


async def _refused(
    request: Request, sender: Acting, db: Database, settings: Settings, refusal: Refused
) -> HTMLResponse:
    form = sender.form.refused(refusal)
    if refusal.field:
        name = FIELD_OF.get(refusal.field, refusal.field.rpartition(".")[2])
        form = SentForm(form.fields, {name: refusal.detail}, refusal.detail)
    return await _page(request, sender.person, db, form, settings=settings, code=refusal.status)


async def _page(
    request: Request,
    person: SignedIn,
    db: Database,
    form: SentForm,
    *,
    settings: Settings,
    offset: int = 0,
    code: int = 200,
) -> HTMLResponse:
    query = federation.CertificateFilter(limit=SHOWN, offset=offset)

    async def reading(tx: Tx) -> tuple[list[federation.IssuedCertificate], int, federation.OwnLicence | None]:
        found, total = await federation.list_licence_certificates(tx, query)
        return found, total, await federation.held_licence(tx, settings)

    found, total, own = await db.read(reading)
    return administration_page(
        request,
        "licences.html",
        person,
        form,
        status=code,
        section=LICENCES,
        own=own,
        own_payload=read_certificate(own.network.certificate).payload if own else None,
        is_mainframe=federation.is_mainframe(settings),
        licences=found,
        total=total,
        offset=offset,
        shown_at_most=SHOWN,
    )
