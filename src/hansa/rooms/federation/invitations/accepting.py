"""Accept an invitation of another registry: verify it, redeem it there, write the peer here.

Each step can be repeated: after a lost answer or a crash the same command goes on where the last one ended.
"""

import asyncio
import json
from datetime import timedelta

from hansa.foundation.plumbing import jobs
from hansa.foundation.plumbing.admin_acts import record_act
from hansa.foundation.plumbing.caller import Developer
from hansa.foundation.plumbing.database import Tx
from hansa.foundation.plumbing.outgoing import Answer, CallLimits, OutgoingTrouble
from hansa.foundation.plumbing.runtime import Runtime
from hansa.rooms.federation.charter import present_signing_key
from hansa.rooms.federation.peers import (
    JOB,
    NewPeer,
    PeerDocumentRefused,
    PeerRecord,
    PeerUnreachable,
    admit_peer,
    database_time,
    refresh_peer,
)

from . import documents
from .documents import Document, DocumentUnreadable
from .errors import AcceptanceRefused, InvitationRefused
from .inviting import own_party
from .verifying import VerifiedParty, verify_party

REDEEM_AT = "/api/v1/federation/invitations/redeem"
ACCEPTANCE_LIFETIME = timedelta(minutes=10)
# The registry that invited reads three documents of this one before it answers.
LIMITS = CallLimits(seconds=45.0, body_bytes=64 * 1024)
FIRST_READ_TRIES = 8
FIRST_READ_PAUSE_SECONDS = 0.5
DETAIL_MAX_CHARACTERS = 500
CREATED, TOO_MANY, FAILED = 201, 429, 500


async def accept(
    runtime: Runtime, administrator: Developer | None, text: str, net_in_limit: int | None
) -> PeerRecord:
    """Make the registry that invited a peer, and this one a peer of it. Never within a transaction.

    Raises: InvitationRefused, AcceptanceRefused, PeerUnreachable, PeerRemoving, RootCollision, FederationOff, and as
    `verify_party`.
    """
    party = await own_party(runtime)
    try:
        invitation = documents.read("invitation", text)
    except DocumentUnreadable as trouble:
        raise InvitationRefused(f"The invitation is refused: {trouble}.", field="invitation") from None
    now = await runtime.database.look(database_time)
    inviter = await verify_party(runtime, invitation, now)

    async def signed(tx: Tx) -> str:
        key = await present_signing_key(tx, runtime.seal)
        return documents.sign("acceptance", key, party, invitation.jti, key.now + ACCEPTANCE_LIFETIME)

    await _redeem(runtime, inviter, await runtime.database.read(signed))
    peer = await runtime.database.act(lambda tx: _admit(tx, administrator, invitation, inviter, net_in_limit))
    return await _read_first(runtime, peer)


async def _redeem(runtime: Runtime, inviter: VerifiedParty, acceptance: str) -> None:
    """Raises: AcceptanceRefused, PeerUnreachable."""
    url = inviter.party.public_url + REDEEM_AT
    body = json.dumps({"acceptance": acceptance}).encode()
    try:
        answer = await runtime.outgoing.post(
            url, body, headers={"Content-Type": "application/json"}, limits=LIMITS
        )
    except OutgoingTrouble as trouble:
        raise PeerUnreachable.at(inviter.party.public_url, trouble.reason) from None
    if answer.status >= FAILED or answer.status == TOO_MANY:
        raise PeerUnreachable(f"The registry that invited cannot answer now: {_detail_in(answer)}")
    if answer.status != CREATED:
        raise AcceptanceRefused(f"The registry that invited refused the acceptance: {_detail_in(answer)}")


async def _admit(
    tx: Tx,
    administrator: Developer | None,
    invitation: Document,
    inviter: VerifiedParty,
    net_in_limit: int | None,
) -> PeerRecord:
    party = inviter.party
    new = NewPeer(
        party.public_url,
        inviter.bundle,
        "approved",
        net_in_limit=net_in_limit,
        registry_name=party.registry_name,
    )
    peer = await admit_peer(tx, new)
    await record_act(
        tx, administrator, act="peer.accept", subject=party.trust_domain, reason=str(invitation.jti)
    )
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


def _detail_in(answer: Answer) -> str:
    """What the other registry says of its refusal, cut to an ordinary length."""
    try:
        detail = json.loads(answer.body).get("detail")
    except (ValueError, AttributeError, RecursionError):
        detail = None
    if not isinstance(detail, str) or not detail.isprintable():
        return f"status {answer.status}."
    return detail[:DETAIL_MAX_CHARACTERS]
