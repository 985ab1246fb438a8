"""Licence certificates for administrators of federation: the own one, and those that this registry issued."""

from typing import Annotated, Any, Literal

from fastapi import Path, Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import (
    SentForm,
    SignedIn,
    whole_number,
)
from hansa.foundation.plumbing.process.runtime import Config, Db, Sealing
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.rooms import federation
from hansa_verify import read_certificate

from .pages import (
    SHOWN,
    FederationAct,
    FederationAdministrator,
    FormsPage,
    Offset,
    administration_page,
    administration_router,
    reason_in,
)

router = administration_router()

Lid = Annotated[str, Path(min_length=1, max_length=128, pattern=r"^[0-9A-Za-z-]+$")]
LICENCES = "/administration/licences"
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

    async def issued(tx: Tx) -> None:
        body = federation.certificate_request(_members(sender.form))
        await federation.issue_certificate(tx, sender.person.developer, settings, seal, body)

    return await FORMS.carry_out(request, sender, db, settings, issued, done="issued")


@router.post("/administration/licences/genesis")
async def issue_genesis(
    sender: FederationAct, request: Request, db: Db, settings: Config, seal: Sealing
) -> Response:
    """Issue the genesis certificate to this registry, once, and state it on the registry card."""

    async def issued(tx: Tx) -> None:
        await federation.found_network(tx, sender.person.developer, settings, seal)

    return await FORMS.carry_out(request, sender, db, settings, issued, done="genesis")


@router.post("/administration/licences/install")
async def install_licence(
    sender: FederationAct, request: Request, db: Db, settings: Config, seal: Sealing
) -> Response:
    """Install the certificate that the genesis issued to this registry, and state it on the registry card."""

    async def installed(tx: Tx) -> None:
        certificate, chain = sender.form.value("certificate").strip(), sender.form.value("chain").split()
        body = sender.form.read_as(federation.InstallIn, certificate=certificate, chain=chain)
        delivered = federation.Delivered(body.certificate, body.chain)
        await federation.join_network(tx, sender.person.developer, settings, seal, delivered)

    return await FORMS.carry_out(request, sender, db, settings, installed, done="installed")


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

    async def changed(tx: Tx) -> None:
        change = federation.CertificateAct(lid, act, reason_in(sender.form))
        await federation.change_certificate(tx, sender.person.developer, settings, change)

    return await FORMS.carry_out(request, sender, db, settings, changed, done=act)


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


async def _page(
    request: Request,
    person: SignedIn,
    db: Database,
    form: SentForm,
    *,
    settings: Settings,
    offset: int = 0,
    status: int = 200,
) -> HTMLResponse:
    errors = {FIELD_OF.get(name, name.rpartition(".")[2]): text for name, text in form.errors.items()}
    query = federation.CertificateFilter(limit=SHOWN, offset=offset)

    async def reading(
        tx: Tx,
    ) -> tuple[list[federation.IssuedCertificate], int, federation.LocalLicence | None]:
        found, total = await federation.list_licence_certificates(tx, query)
        return found, total, await federation.held_licence(tx, settings)

    found, total, own = await db.read(reading)
    return administration_page(
        request,
        "licences.html",
        person,
        SentForm(form.fields, errors, form.message),
        status=status,
        section=LICENCES,
        own=own,
        own_payload=read_certificate(own.network.certificate).payload if own else None,
        is_mainframe=federation.is_mainframe(settings),
        licences=found,
        total=total,
        offset=offset,
    )


FORMS = FormsPage(LICENCES, _page)
