"""Redeem an invitation of this registry: verify who accepts it, burn its id and write the peer in one commit.

A repeat with the same key, address and bundle gets the same answer; a lost answer is asked for again by it. An operator
registry of this frame gets its certificates with each answer, for the keys of its requests.
"""

import msgspec

from hansa.foundation.plumbing import jobs
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.admin_acts import record_operator_act
from hansa.rooms.federation.identity import (
    CertificateRequest,
    CertificatesRefused,
    FederationOff,
    IssuedLeaf,
    certify,
    read_requests,
)
from hansa.rooms.federation.peers import (
    JOB,
    NewPeer,
    PeerDocumentRefused,
    PeerRecord,
    PeerUnreachable,
    admit_peer,
    database_time,
    find_registry,
    refresh_peer,
)

from . import store
from .documents import Document, DocumentUnreadable, read
from .errors import InvitationRefused, InvitationUnknown, InvitationUsed
from .records import Invitation, Redeemer
from .verifying import PEER_TYPES, Place, VerifiedParty, place_of_acceptor, verify_party


class Redemption(msgspec.Struct, frozen=True):
    """Verified document of an acceptance, and its place."""

    document: Document
    verified: VerifiedParty
    place: Place

    @property
    def redeemer(self) -> Redeemer:
        """Redeemer that a repeat has to match."""
        party = self.verified.party
        return Redeemer(self.verified.signer_thumbprint, party.public_url, party.bundle_sha256)


class Redeemed(msgspec.Struct, frozen=True):
    """The registry that accepted, and the certificates that an operator gets.

    `reaches`: whether it was read over mutual TLS, None where that was not asked for; `trouble`: why not, or the documents refused.
    """

    peer: PeerRecord
    leaves: list[IssuedLeaf] | None
    reaches: bool | None = None
    trouble: str | None = None


async def redeem(runtime: Runtime, text: str, *, is_to_reach: bool = False) -> Redeemed:
    """Make the registry that accepts a peer, and read it over mutual TLS where it `is_to_reach`. Never within a transaction.

    Raises: InvitationRefused, InvitationUnknown, InvitationUsed, RootCollision, PeerUnknown, and as `verify_party`.
    """
    try:
        document = read("acceptance", text)
    except DocumentUnreadable as error:
        raise InvitationRefused(f"The acceptance is refused: {error}.", field="acceptance") from None
    invitation = await runtime.database.query(lambda tx: _require_redeemable(tx, document))
    settings = runtime.settings
    place = place_of_acceptor(settings, document, invitation)
    requests = _requests(settings, document, invitation)
    now = await runtime.database.query(database_time)
    redemption = Redemption(document, await verify_party(runtime, document, now, place), place)
    peer = await runtime.database.transaction(lambda tx: _burn(tx, redemption))
    if is_to_reach:
        # An operator has its certificates from the answer before this one.
        return await _reached(runtime, peer)
    if invitation.operator is None:
        return Redeemed(peer, None)
    if runtime.authority is None:
        raise FederationOff
    return Redeemed(peer, certify(runtime.authority, requests, now))


async def _reached(runtime: Runtime, peer: PeerRecord) -> Redeemed:
    try:
        refreshed = await refresh_peer(runtime, peer.id)
    except PeerUnreachable as error:
        return Redeemed(peer, None, reaches=False, trouble=error.reason)
    except PeerDocumentRefused as error:
        return Redeemed(peer, None, reaches=True, trouble=error.reason)
    return Redeemed(refreshed.peer, None, reaches=True)


def _requests(settings: Settings, document: Document, invitation: Invitation) -> list[CertificateRequest]:
    """Return the certificates that an operator requests. Raises: InvitationRefused."""
    if invitation.operator is None:
        return []
    try:
        return read_requests(document.csrs, settings.trust_domain, invitation.operator)
    except CertificatesRefused as error:
        raise InvitationRefused(f"The acceptance is refused: {error}.", field="acceptance") from None


async def _require_redeemable(tx: Tx, document: Document) -> Invitation:
    """Nothing is read from an address before: only an invitation that exists permits that."""
    invitation = await store.read(tx, document.jti)
    if invitation is None or (invitation.redeemer is None and not invitation.is_open):
        raise InvitationUnknown
    if invitation.redeemer is not None:
        declared = (document.party.public_url, document.party.bundle_sha256)
        if declared != (invitation.redeemer.public_url, invitation.redeemer.bundle_sha256):
            raise InvitationUsed
    return invitation


async def _burn(tx: Tx, redemption: Redemption) -> PeerRecord:
    party, jti = redemption.verified.party, redemption.document.jti
    if not await store.redeem(tx, jti, redemption.redeemer):
        return await _repeated(tx, redemption)
    new = NewPeer(
        party.public_url,
        redemption.verified.bundle,
        "approved",
        PEER_TYPES[redemption.place],
        registry_name=party.registry_name,
    )
    peer = await admit_peer(tx, new)
    await record_operator_act(tx, act="peer.redeem", subject=str(jti), reason=party.trust_domain)
    await jobs.enqueue(tx, JOB, str(peer.id))
    return peer


async def _repeated(tx: Tx, redemption: Redemption) -> PeerRecord:
    invitation = await store.read(tx, redemption.document.jti)
    if invitation is None or invitation.redeemer is None:
        raise InvitationUnknown
    party = redemption.verified.party
    peer = await find_registry(tx, party.trust_domain, party.registry_name)
    if invitation.redeemer != redemption.redeemer or peer is None or peer.removing:
        raise InvitationUsed
    return peer
