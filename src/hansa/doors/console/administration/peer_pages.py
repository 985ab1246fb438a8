"""Peers for administrators of federation: facts, limits, trust and refusals, and the acts on a peer."""

from typing import Annotated, Literal

from fastapi import Path, Request
from fastapi.responses import HTMLResponse, Response
from pydantic import Field

from hansa.doors.console.access import FormRefused, SentForm, SignedIn, act_once, see_other
from hansa.foundation.plumbing import parameters
from hansa.foundation.plumbing.process.runtime import Config, Db, runtime_of
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.foundation.plumbing.storage.joined_reads import read_together
from hansa.foundation.values.errors import Refused
from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.money import Amount, Minor, parse_amount
from hansa.rooms import federation, ledger

from .pages import (
    SHOWN,
    FederationAct,
    FederationAdministrator,
    Offset,
    RefusedPage,
    administration_page,
    administration_router,
    carry_out,
    reason_in,
)

router = administration_router()

PEERS = "/administration/peers"
PeerId = Annotated[int, Path(ge=1, le=2**63 - 1)]
CHECKS_IN_WORDS = {
    "form": "Form of the card",
    "namespace": "DID namespace",
    "schema": "Members of the card",
    "key": "Signing key",
    "paths": "Signed members",
    "signature": "Signature",
    "window": "Validity",
    "domain": "Trust domain",
    "name": "Name of the registry",
}
REFUSALS_IN_WORDS = {
    "wrong_identity": "Another identity of its trust domain called this registry",
    "message_malformed": "A message that is none of its kind",
    "foreign_namespace": "A statement about an agent that is not its own",
    "settlement_conflict": "A slash settlement that differs from the one that is stored",
    "receipt_invalid": "A receipt with a wrong signature",
    "position_forged": "A position in the chain of transfers that this registry did not sign",
    "bridge_tombstones": "A transfer over the bridge that has ended before",
    "did_claimed_by_another": "A claim of a DID that another registry holds",
    "did_quota_reached": "More claims of DIDs than are allowed",
    "expired": "Its registry card has expired",
    "bad_signature": "Its registry card has a wrong signature",
    "unknown_key": "Its registry card is signed with a key that its key set lacks",
    "identity_changed": "Its registry card states another identity than before",
    "keys_unreadable": "Its key set cannot be read",
    "card_name_mismatch": "Its registry card states another name than before",
    "leaf_unsigned": "Its registry card does not sign currency, namespace or fee",
    "root_collision": "Its trust bundle has a root of another registry",
    "unreachable": "It does not answer",
    "timeout": "It does not answer in time",
    "document_missing": "It answers without its documents",
    "identity_refused": "It does not prove its identity",
    "bundle_unreadable": "Its trust bundle cannot be read",
}


class Removed(LazyModel):
    """The outcome of a removal: whether nothing of the peer is left."""

    is_gone: bool


class LimitFields(LazyModel):
    """The units that a peer may bring in more than it takes out."""

    net_in_limit: Amount | None = None
    unlimited: Annotated[Literal["", "true"], Field()] = ""


@router.get(PEERS)
async def list_peers(
    person: FederationAdministrator, request: Request, db: Db, settings: Config, *, offset: Offset = 0
) -> HTMLResponse:
    """Every peer by name, with its state, its last contact and its use of the limit."""

    async def reading(tx: Tx) -> tuple[list[federation.PeerView], int, dict[str, Minor]]:
        views, total = await federation.list_peers(tx, SHOWN, offset)
        return views, total, await _net_in(tx, views, settings)

    views, total, net_in = await db.read(reading)
    return administration_page(
        request,
        "peers.html",
        person,
        views=views,
        net_in=net_in,
        total=total,
        offset=offset,
        state_of=state_of,
        refusal_in_words=refusal_in_words,
        currency=settings.settlement_currency,
    )


@router.get(PEERS + "/{peer_id:int}")
async def show_peer(
    peer_id: PeerId, person: FederationAdministrator, request: Request, db: Db, settings: Config
) -> HTMLResponse:
    """One peer with everything that is known of it. Raises: PeerUnknown."""
    return await _page(request, person, peer_id, SentForm(), db, settings=settings)


@router.post(PEERS + "/{peer_id:int}/limit")
async def set_limit(
    peer_id: PeerId, sender: FederationAct, request: Request, db: Db, settings: Config
) -> Response:
    """Set how much the peer may bring in more than it takes out."""

    async def changed(tx: Tx) -> None:
        limit = limit_in(sender.form)
        await federation.set_net_in_limit(tx, sender.person.developer, peer_id, limit)

    return await carry_out(
        request,
        sender,
        changed,
        done=f"{PEERS}/{peer_id}?done=limit",
        refused=_refused(request, sender.person, peer_id, db, settings),
    )


@router.post(PEERS + "/{peer_id:int}/remove")
async def remove_peer(
    peer_id: PeerId, sender: FederationAct, request: Request, db: Db, settings: Config
) -> Response:
    """Trust a peer no longer; with the field `abandon` end what is under way with it as well. The name of the peer confirms it."""
    runtime = runtime_of(request)
    abandon = sender.form.value("abandon") == "true"

    async def removed(tx: Tx) -> Removed:
        peer = await federation.peer_by_id(tx, peer_id)
        if sender.form.value("typed_name").strip() != peer.name:
            raise FormRefused(
                {"typed_name": "The name of the peer confirms this act; another one was typed."}
            )
        administrator = sender.person.developer
        _, is_gone = await federation.remove_peer(tx, administrator, runtime, peer_id, abandon=abandon)
        return Removed(is_gone=is_gone)

    try:
        outcome = await act_once(request, sender, Removed, removed)
    except Refused as refusal:
        refused = _refused(request, sender.person, peer_id, db, settings)
        return await refused(sender.form.refused(refusal), refusal.status)
    if outcome.is_gone:
        await federation.PEER_CALLS.of(runtime).forget(peer_id)
        return see_other(f"{PEERS}?done=removed")
    return see_other(f"{PEERS}/{peer_id}?done=removing")


@router.post(PEERS + "/{peer_id:int}/{act}")
async def change_peer(
    peer_id: PeerId,
    act: Literal["pause", "resume", "quarantine", "release"],
    sender: FederationAct,
    request: Request,
    db: Db,
    *,
    settings: Config,
) -> Response:
    """Pause or resume a peer, put it under quarantine or release it; the last two need a reason."""

    async def changed(tx: Tx) -> None:
        administrator = sender.person.developer
        match act:
            case "pause":
                await federation.pause_peer(tx, administrator, peer_id)
            case "resume":
                await federation.resume_peer(tx, administrator, peer_id)
            case "quarantine":
                await federation.quarantine_peer(tx, administrator, peer_id, reason_in(sender.form))
            case "release":
                await federation.release_peer(tx, administrator, peer_id, reason_in(sender.form))

    return await carry_out(
        request,
        sender,
        changed,
        done=f"{PEERS}/{peer_id}?done={act}",
        refused=_refused(request, sender.person, peer_id, db, settings),
    )


def limit_in(form: SentForm) -> int | None:
    """The limit of a form in minor units, None: unlimited. Raises: FormRefused."""
    fields = form.read_as(LimitFields)
    if fields.unlimited:
        return None
    if fields.net_in_limit is None:
        raise FormRefused({"net_in_limit": "A limit is required, or the choice of no limit."})
    return parse_amount(fields.net_in_limit)


def state_of(peer: federation.PeerRecord) -> str:
    """The state of a peer in one word; what an administrator has set comes before what follows from it."""
    states = (
        (peer.removing, "removing"),
        (peer.quarantined_at is not None, "quarantined"),
        (peer.paused_at is not None, "paused"),
        (peer.approval == "pending", "pending"),
    )
    return next((state for holds, state in states if holds), peer.status)


def refusal_in_words(reason: str) -> str:
    """The reason of a refusal as a sentence without its stop; a reason without one is shown with spaces."""
    return REFUSALS_IN_WORDS.get(reason, reason.replace("_", " ").capitalize())


async def _net_in(tx: Tx, views: list[federation.PeerView], settings: Settings) -> dict[str, Minor]:
    frames = [view.peer.ledger_id for view in views if view.peer.ledger_id is not None]
    return await ledger.net_in_with(tx, frames, ledger.Book.of(settings))


def _refused(
    request: Request, person: SignedIn, peer_id: int, db: Database, settings: Settings
) -> RefusedPage:
    return lambda form, status: _page(request, person, peer_id, form, db, settings=settings, status=status)


async def _page(
    request: Request,
    person: SignedIn,
    peer_id: int,
    form: SentForm,
    db: Database,
    *,
    settings: Settings,
    status: int = 200,
) -> HTMLResponse:
    async def reading(
        tx: Tx,
    ) -> tuple[federation.PeerView, federation.PeerTrust, list[federation.OwnTrust], dict[str, Minor]]:
        verdict = await federation.peer_verdict(tx, peer_id)
        view = await federation.view_of(tx, verdict.peer)
        in_force, declared = await read_together(
            tx, lambda tx: parameters.in_force(tx, settings), federation.declared_trust
        )
        trust = federation.PeerTrust.of(verdict, in_force)
        return view, trust, declared, await _net_in(tx, [view], settings)

    view, trust, declared, net_in = await db.read(reading)
    peer = view.peer
    return administration_page(
        request,
        "peer.html",
        person,
        form,
        status=status,
        section=PEERS,
        peer=peer,
        view=view,
        trust=trust,
        declared=next((one for one in declared if one.peer == (peer.ledger_id or peer.trust_domain)), None),
        net_in=net_in.get(peer.ledger_id or "", Minor(0)),
        verdicts=[federation.CardVerdictOut.model_validate(verdict) for verdict in peer.card_verdicts],
        refusals=sorted(view.refusals, key=lambda one: one.last_at, reverse=True),
        state=state_of(peer),
        checks_in_words=CHECKS_IN_WORDS,
        refusal_in_words=refusal_in_words,
        currency=settings.settlement_currency,
    )
