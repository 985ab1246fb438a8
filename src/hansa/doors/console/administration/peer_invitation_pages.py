"""Invitations by which two registries become peers: signed and revoked here, and those of others judged and accepted."""

from datetime import datetime
from typing import Annotated
from urllib.parse import urlsplit
from uuid import UUID

from fastapi import Path, Request
from fastapi.responses import HTMLResponse, Response
from markupsafe import Markup
from pydantic import Field

from hansa.doors.console.access import FormRefused, SentForm, SignedIn, act_once, see_other, whole_number
from hansa.foundation.plumbing.process.runtime import Config, Db, Sealing, runtime_of
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.foundation.values.errors import Refused
from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.money import format_amount
from hansa.rooms import federation, people

from .pages import (
    FederationAct,
    FederationAdministrator,
    administration_page,
    administration_router,
    carry_out,
)
from .peer_pages import CHECKS_IN_WORDS, PEERS, limit_in

router = administration_router()

INVITE, ACCEPT = f"{PEERS}/invite", f"{PEERS}/accept"
INVITATION_MAX_CHARACTERS = 8192
ADDRESS_MAX_CHARACTERS = 500


class Made(LazyModel):
    """A new invitation, shown again only to the same form. `link` opens it at the registry that is invited, if its address was given."""

    invitation: str
    expires_at: datetime
    link: str | None


class Admitted(LazyModel):
    """The peer that an accepted invitation made."""

    peer_id: int


class AcceptFields(LazyModel):
    """An invitation of another registry."""

    invitation: Annotated[str, Field(min_length=1, max_length=INVITATION_MAX_CHARACTERS)]


@router.get(INVITE)
async def show_invitations(
    person: FederationAdministrator, request: Request, db: Db, settings: Config
) -> HTMLResponse:
    """The open invitations, and the form of a new one."""
    return await _invite_page(request, person, SentForm(), db, settings)


@router.post(INVITE)
async def invite_registry(
    sender: FederationAct, request: Request, db: Db, settings: Config, *, seal: Sealing
) -> Response:
    """Sign an invitation for one registry; it is shown once."""
    form = sender.form
    try:
        address = _address_in(form)
        body = form.read_as(federation.InvitationIn, expires_in=whole_number(form.value("expires_in")))
        new = await federation.new_invitation(runtime_of(request), body.lifetime, body.operator)

        async def made(tx: Tx) -> Made:
            signed = await federation.sign_invitation(tx, sender.person.developer, seal, new)
            link = f"{address}{ACCEPT}#invitation={signed.text}" if address else None
            return Made(invitation=signed.text, expires_at=signed.expires_at, link=link)

        outcome = await act_once(request, sender, Made, made)
    except Refused as refusal:
        refused = form.refused(refusal)
        return await _invite_page(request, sender.person, refused, db, settings, status=refusal.status)
    # Made here of the address or the signed text alone.
    picture = Markup(people.qr_svg(outcome.link or outcome.invitation))  # noqa: S704
    return administration_page(
        request, "peer-invited.html", sender.person, section=INVITE, made=outcome, picture=picture
    )


@router.post(PEERS + "/invitations/{jti:uuid}/revoke")
async def revoke_invitation(
    jti: Annotated[UUID, Path()], sender: FederationAct, request: Request, db: Db, settings: Config
) -> Response:
    """End an invitation that nobody has redeemed."""

    async def refused(form: SentForm, status: int) -> HTMLResponse:
        return await _invite_page(request, sender.person, form, db, settings, status=status)

    return await carry_out(
        request,
        sender,
        lambda tx: federation.revoke_invitation(tx, sender.person.developer, jti),
        done=f"{INVITE}?done=revoked",
        refused=refused,
    )


@router.get(ACCEPT)
async def show_acceptance(person: FederationAdministrator, request: Request) -> HTMLResponse:
    """The form for an invitation of another registry; a link fills it in behind the #."""
    return _accept_page(request, person, SentForm())


@router.post(ACCEPT + "/check")
async def check_invitation(sender: FederationAct, request: Request, settings: Config) -> Response:
    """Judge an invitation step by step, and change nothing."""
    try:
        text = sender.form.read_as(AcceptFields).invitation
    except Refused as refusal:
        return _accept_page(request, sender.person, sender.form.refused(refusal), status=refusal.status)
    return await _preview_page(request, sender.person, sender.form, text, settings)


@router.post(ACCEPT)
async def accept_invitation(sender: FederationAct, request: Request, settings: Config) -> Response:
    """Make the registry that invited a peer, and this one a peer of it; the same form may be sent again."""
    form, runtime = sender.form, runtime_of(request)
    try:
        text = form.read_as(AcceptFields).invitation
        acceptance = await federation.redeem_there(runtime, text, limit_in(form))

        async def admitted(tx: Tx) -> Admitted:
            peer = await federation.admit_inviter(tx, sender.person.developer, acceptance)
            return Admitted(peer_id=peer.id)

        outcome = await act_once(request, sender, Admitted, admitted)
        peer = await runtime.database.read(lambda tx: federation.peer_by_id(tx, outcome.peer_id))
    except FormRefused as refusal:
        if "invitation" in refusal.errors:
            return _accept_page(request, sender.person, form.refused(refusal), status=refusal.status)
        text = form.value("invitation")
        refused = form.refused(refusal)
        return await _preview_page(request, sender.person, refused, text, settings, status=refusal.status)
    except Refused as refusal:
        return _accept_page(request, sender.person, form.refused(refusal), status=refusal.status)
    accepted = await federation.meet_inviter(runtime, acceptance, peer)
    done = "accepted-unreached" if accepted.reaches_us is False else "accepted"
    return see_other(f"{PEERS}/{outcome.peer_id}?done={done}")


def _address_in(form: SentForm) -> str:
    """The address of the registry that is invited without a path, or an empty text. Raises: FormRefused."""
    text = form.value("address").strip()
    if not text:
        return ""
    try:
        parts = urlsplit(text)
        is_address = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_address = False
    if not is_address or not text.isprintable() or len(text) > ADDRESS_MAX_CHARACTERS or "@" in parts.netloc:
        raise FormRefused({"address": "This is not the http or https address of a registry."})
    return f"{parts.scheme}://{parts.netloc}"


async def _invite_page(
    request: Request, person: SignedIn, form: SentForm, db: Database, settings: Settings, *, status: int = 200
) -> HTMLResponse:
    return administration_page(
        request,
        "peer-invite.html",
        person,
        form,
        status=status,
        section=INVITE,
        invitations=await db.read(federation.open_invitations),
        invites_operators=settings.issues_identities,
    )


def _accept_page(request: Request, person: SignedIn, form: SentForm, *, status: int = 200) -> HTMLResponse:
    return administration_page(request, "peer-accept.html", person, form, status=status, section=ACCEPT)


async def _preview_page(
    request: Request, person: SignedIn, form: SentForm, text: str, settings: Settings, *, status: int = 200
) -> HTMLResponse:
    return administration_page(
        request,
        "peer-accept-check.html",
        person,
        form,
        status=status,
        section=ACCEPT,
        preview=await federation.preview(runtime_of(request), text),
        checks_in_words=CHECKS_IN_WORDS,
        limit=format_amount(federation.NET_IN_LIMIT_DEFAULT),
        currency=settings.settlement_currency,
    )
