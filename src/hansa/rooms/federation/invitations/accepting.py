"""Accept an invitation of another registry: verify it, redeem it there, write the peer here.

Each step can be repeated: after a lost answer or a crash the same command goes on where the last one ended. An operator registry
that accepts an invitation of its frame receives its certificates with the answer, and takes them in the commit that writes the peer.

Result of the acceptance of an invitation: the peer, and whether it reaches this registry in turn.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import msgspec
from pydantic import Field, ValidationError

from hansa.foundation.plumbing import jobs
from hansa.foundation.plumbing.keys.trust_bundle import TrustBundle
from hansa.foundation.plumbing.outgoing import Answer, CallLimits, NamedBy, OutgoingTrouble
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.admin_acts import record_act
from hansa.foundation.plumbing.web.caller import Developer
from hansa.foundation.values.errors import Refused
from hansa.rooms.federation.charter import present_signing_key
from hansa.rooms.federation.identity import (
    CertificatesRefused,
    Requested,
    prepare_requests,
    receive_certificates,
    set_own_roots,
)
from hansa.rooms.federation.peers import (
    CARD_STEPS,
    JOB,
    NewPeer,
    PeerDocumentRefused,
    PeerOut,
    PeerRecord,
    PeerUnreachable,
    PeerView,
    admit_peer,
    database_time,
    refresh_peer,
)

from . import documents
from .documents import Document, DocumentUnreadable
from .errors import AcceptanceRefused, InvitationRefused
from .inviting import own_party, require_address
from .schemas import RedeemedOut
from .verifying import PEER_TYPES, Place, VerifiedParty, place_of_inviter, verify_party

REDEEM_AT = "/api/v1/federation/invitations/redeem"
ACCEPTANCE_LIFETIME = timedelta(minutes=10)
# The registry that invited reads three documents of this one before it answers.
LIMITS = CallLimits(seconds=45.0, body_bytes=64 * 1024)
FIRST_READ_TRIES = 8
FIRST_READ_PAUSE_SECONDS = 0.5
REACHED_BACK_TRIES = 6
REACHED_BACK_PAUSE_SECONDS = 0.4
DETAIL_MAX_CHARACTERS = 500
CREATED, TOO_MANY, FAILED = 201, 429, 500


class Accepted(msgspec.Struct, frozen=True):
    """The registry that invited, and whether it reaches this one; None where it did not state that. `trouble`: why not."""

    peer: PeerRecord
    reaches_us: bool | None = None
    trouble: str | None = None


class _Invited(msgspec.Struct, frozen=True):
    """An invitation whose author was verified, and the place of that registry."""

    invitation: Document
    place: Place
    inviter: VerifiedParty


@dataclass(frozen=True)
class Acceptance:
    """Invitation that the registry that invited has redeemed; the peer is still to be written here."""

    invited: _Invited
    text: str = field(repr=False)
    requested: Sequence[Requested] = field(repr=False)
    redeemed: RedeemedOut = field(repr=False)
    new: NewPeer


class CardCheck(msgspec.Struct, frozen=True):
    """One step in which the registry card of the registry that invites is judged; `ok` is None where it was not reached."""

    step: str
    ok: bool | None
    reason: str


class Preview(msgspec.Struct, frozen=True):
    """An invitation before it is accepted: its author and end as stated, None where it cannot be read, and the steps of the card.

    `refusal` is the reason why it cannot be accepted, None: it can be.
    """

    document: Document | None
    checks: Sequence[CardCheck]
    currency: str | None
    refusal: Refused | None


async def accept(
    runtime: Runtime, administrator: Developer | None, text: str, net_in_limit: int | None
) -> Accepted:
    """Make the registry that invited a peer, and this one a peer of it. Never within a transaction.

    Raises: InvitationRefused, AcceptanceRefused, PeerUnreachable, RootCollision, FederationOff, and as `verify_party`.
    """
    acceptance = await redeem_there(runtime, text, net_in_limit)
    peer = await runtime.database.transaction(lambda tx: admit_inviter(tx, administrator, acceptance))
    return await meet_inviter(runtime, acceptance, peer)


async def preview(runtime: Runtime, text: str) -> Preview:
    """Judge an invitation as `accept` does, and change nothing. Never within a transaction."""
    document = None
    try:
        document = _read(runtime, text)
        invited = await _verified(runtime, document)
    except Refused as refusal:
        verdicts = refusal.verdicts if isinstance(refusal, InvitationRefused) else ()
        return Preview(document, _checks(verdicts), None, refusal)
    card = invited.inviter.card
    return Preview(document, _checks(card.verdicts), card.settlement_currency, None)


async def redeem_there(runtime: Runtime, text: str, net_in_limit: int | None) -> Acceptance:
    """Verify an invitation and redeem it at its registry. Never within a transaction. May be repeated. Raises: as `accept`."""
    invited = await _verified(runtime, _read(runtime, text))
    inviter, invitation = invited.inviter, invited.invitation
    requested = await _requested(runtime, inviter) if invited.place == "frame" else []
    party = await own_party(runtime)

    async def signed(tx: Tx) -> str:
        key = await present_signing_key(tx, runtime.seal)
        ends_at, csrs = key.now + ACCEPTANCE_LIFETIME, [one.request for one in requested]
        return documents.sign("acceptance", key, party, invitation.jti, ends_at, csrs=csrs)

    acceptance = await runtime.database.read(signed)
    redeemed = await _redeem(runtime, inviter, acceptance)
    new = NewPeer(
        inviter.party.public_url,
        inviter.bundle,
        "approved",
        PEER_TYPES[invited.place],
        net_in_limit,
        inviter.party.registry_name,
    )
    return Acceptance(invited, acceptance, requested, redeemed, new)


async def admit_inviter(tx: Tx, administrator: Developer | None, acceptance: Acceptance) -> PeerRecord:
    """Write the registry that invited as a peer, with the certificates of its answer. Raises: AcceptanceRefused, RootCollision."""
    if acceptance.requested:
        await _receive(tx, acceptance.requested, acceptance.redeemed, acceptance.invited.inviter.bundle)
    return await _admit(tx, administrator, acceptance.invited.invitation, acceptance.new)


async def meet_inviter(runtime: Runtime, acceptance: Acceptance, peer: PeerRecord) -> Accepted:
    """Read the new peer, and let it read this registry. Never within a transaction."""
    read = await _read_first(runtime, peer)
    return await _reached_back(runtime, acceptance.invited.inviter, acceptance.text, read)


def _read(runtime: Runtime, text: str) -> Document:
    """Raises: InvitationRefused, FederationOff."""
    require_address(runtime.settings)
    try:
        return documents.read("invitation", text)
    except DocumentUnreadable as error:
        raise InvitationRefused(f"The invitation is refused: {error}.", field="invitation") from None


async def _verified(runtime: Runtime, invitation: Document) -> _Invited:
    """Raises: as `verify_party`."""
    place = place_of_inviter(runtime.settings, invitation)
    now = await runtime.database.query(database_time)
    return _Invited(invitation, place, await verify_party(runtime, invitation, now, place))


def _checks(verdicts: Sequence[Mapping[str, Any]]) -> list[CardCheck]:
    """The steps of a card in their order, and further reasons for which it was refused."""
    found = {verdict["step"]: CardCheck(**verdict) for verdict in verdicts}
    known = [found.pop(step, CardCheck(step, None, "")) for step in CARD_STEPS]
    return [*known, *found.values()]


async def _requested(runtime: Runtime, frame: VerifiedParty) -> list[Requested]:
    """Take over the roots of the frame, and write the keys for which certificates are requested."""

    async def prepare(tx: Tx) -> list[Requested]:
        await set_own_roots(tx, frame.bundle.pem)
        return await prepare_requests(tx, runtime.seal, runtime.settings)

    return await runtime.database.transaction(prepare)


async def _receive(
    tx: Tx, requested: Sequence[Requested], redeemed: RedeemedOut, bundle: TrustBundle
) -> None:
    """Raises: AcceptanceRefused."""
    certificates = [one.certificate for one in redeemed.svids or ()]
    try:
        await receive_certificates(tx, requested, certificates, bundle)
    except CertificatesRefused as error:
        raise AcceptanceRefused(f"The answer of the frame is refused: {error}.") from None


async def _redeem(
    runtime: Runtime, inviter: VerifiedParty, acceptance: str, *, reach: bool = False
) -> RedeemedOut:
    """Raises: AcceptanceRefused, PeerUnreachable."""
    url = inviter.party.public_url + REDEEM_AT
    body = json.dumps({"acceptance": acceptance, **({"reach": True} if reach else {})}).encode()
    try:
        answer = await runtime.outgoing.post(
            url, body, named_by=NamedBy.OPERATOR, headers={"Content-Type": "application/json"}, limits=LIMITS
        )
    except OutgoingTrouble as error:
        raise PeerUnreachable.at(inviter.party.public_url, error.reason) from None
    if answer.status >= FAILED or answer.status == TOO_MANY:
        raise PeerUnreachable(f"The registry that invited cannot answer now: {_detail_in(answer)}")
    if answer.status != CREATED:
        raise AcceptanceRefused(f"The registry that invited refused the acceptance: {_detail_in(answer)}")
    try:
        return RedeemedOut.model_validate_json(answer.body)
    except ValidationError:
        raise AcceptanceRefused("The answer of the registry that invited cannot be read.") from None


async def _admit(tx: Tx, administrator: Developer | None, invitation: Document, new: NewPeer) -> PeerRecord:
    peer = await admit_peer(tx, new)
    subject, reason = invitation.party.trust_domain, str(invitation.jti)
    await record_act(tx, administrator, act="peer.accept", subject=subject, reason=reason)
    await jobs.enqueue(tx, JOB, str(peer.id))
    return peer


async def _read_first(runtime: Runtime, peer: PeerRecord) -> PeerRecord:
    """Verify the peer over mutual TLS; its listener takes up new roots within a second. Later the job goes on."""
    for attempt in range(FIRST_READ_TRIES):
        try:
            return (await refresh_peer(runtime, peer.id)).peer
        except PeerDocumentRefused:
            return peer
        except PeerUnreachable:
            if attempt + 1 < FIRST_READ_TRIES:
                await asyncio.sleep(FIRST_READ_PAUSE_SECONDS)
    return peer


async def _reached_back(
    runtime: Runtime, inviter: VerifiedParty, acceptance: str, peer: PeerRecord
) -> Accepted:
    """Let the registry that invited read this one; the own listener takes up its roots within a second."""
    accepted = Accepted(peer)
    for attempt in range(REACHED_BACK_TRIES):
        if attempt:
            await asyncio.sleep(REACHED_BACK_PAUSE_SECONDS)
        try:
            answer = await _redeem(runtime, inviter, acceptance, reach=True)
        except (AcceptanceRefused, PeerUnreachable):
            return accepted
        accepted = Accepted(peer, answer.reaches, answer.trouble)
        if answer.reaches is not False:
            return accepted
    return accepted


def _detail_in(answer: Answer) -> str:
    """Return the other registry's description of its refusal, cut to an ordinary length."""
    try:
        detail = json.loads(answer.body).get("detail")
    except (ValueError, AttributeError, RecursionError):
        detail = None
    if not isinstance(detail, str) or not detail.isprintable():
        return f"status {answer.status}."
    return detail[:DETAIL_MAX_CHARACTERS]


class AcceptedOut(PeerOut):
    """The registry that invited, as a peer."""

    reaches_us: bool | None = Field(
        description="Whether the peer has read this registry over mutual TLS; null where it did not state that."
    )
    trouble_of_peer: str | None = Field(
        description="Why it could not, or what it refused of the documents of this registry."
    )

    @classmethod
    def of_accepted(cls, view: PeerView, accepted: Accepted) -> "AcceptedOut":
        """The peer as it is shown, with the outcome."""
        shown = dict(PeerOut.of(view))
        return cls(**shown, reaches_us=accepted.reaches_us, trouble_of_peer=accepted.trouble)
