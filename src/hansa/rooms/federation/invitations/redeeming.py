"""Redeem an invitation of this registry: verify who accepts it, burn its id and write the peer in one commit.

A repeat with the same key, address and bundle gets the same answer; a lost answer is asked for again by it.
"""

from dataclasses import dataclass

from hansa.foundation.plumbing import jobs
from hansa.foundation.plumbing.admin_acts import record_operator_act
from hansa.foundation.plumbing.database import Tx
from hansa.foundation.plumbing.runtime import Runtime
from hansa.rooms.federation.peers import JOB, NewPeer, PeerRecord, admit_peer, database_time, find_registry

from . import store
from .documents import Document, DocumentUnreadable, read
from .errors import InvitationRefused, InvitationUnknown, InvitationUsed
from .store import Redeemer
from .verifying import VerifiedParty, verify_party


@dataclass(frozen=True)
class Redemption:
    """What an acceptance is for: its document, verified."""

    document: Document
    verified: VerifiedParty

    @property
    def redeemer(self) -> Redeemer:
        """What a repeat has to bear as well."""
        party = self.verified.party
        return Redeemer(self.verified.signer_thumbprint, party.public_url, party.bundle_sha256)


async def redeem(runtime: Runtime, text: str) -> PeerRecord:
    """Make the registry that accepts a peer. Never within a transaction.

    Raises: InvitationRefused, InvitationUnknown, InvitationUsed, PeerRemoving, RootCollision, and as `verify_party`.
    """
    try:
        document = read("acceptance", text)
    except DocumentUnreadable as trouble:
        raise InvitationRefused(f"The acceptance is refused: {trouble}.", field="acceptance") from None
    await runtime.database.look(lambda tx: _require_redeemable(tx, document))
    now = await runtime.database.look(database_time)
    redemption = Redemption(document, await verify_party(runtime, document, now))
    return await runtime.database.act(lambda tx: _burn(tx, redemption))


async def _require_redeemable(tx: Tx, document: Document) -> None:
    """Nothing is read from an address before: only an invitation that exists permits that."""
    invitation = await store.read(tx, document.jti)
    if invitation is None or (invitation.redeemer is None and not invitation.is_open):
        raise InvitationUnknown
    if invitation.redeemer is not None:
        stated = (document.party.public_url, document.party.bundle_sha256)
        if stated != (invitation.redeemer.public_url, invitation.redeemer.bundle_sha256):
            raise InvitationUsed


async def _burn(tx: Tx, redemption: Redemption) -> PeerRecord:
    party, jti = redemption.verified.party, redemption.document.jti
    if not await store.redeem(tx, jti, redemption.redeemer):
        return await _repeated(tx, redemption)
    new = NewPeer(party.public_url, redemption.verified.bundle, "approved", registry_name=party.registry_name)
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
