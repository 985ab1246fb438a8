"""Verify who signed an invitation or acceptance, by the documents at its public address."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from hansa.foundation.plumbing.runtime import Runtime
from hansa.foundation.plumbing.trust_bundle import BundleUnreadable, TrustBundle
from hansa.rooms.federation.peers import (
    CardRefused,
    ExpectedRegistry,
    bundle_in_document,
    callable_address,
    judge_card,
    read_publicly,
    require_name,
)

from .documents import CLOCK_SKEW_SECONDS, Document, Party
from .errors import InvitationRefused


@dataclass(frozen=True)
class VerifiedParty:
    """Another registry that proved by its key, card and bundle to be the party that it states."""

    party: Party
    bundle: TrustBundle
    signer_thumbprint: str


async def verify_party(runtime: Runtime, document: Document, now: datetime) -> VerifiedParty:
    """Read the registry at the stated address and compare it with the document. Never within a transaction.

    Raises: InvitationRefused, HostRefused, PeerNameRefused, PeerUnreachable.
    """
    party, settings = document.party, runtime.settings
    _require_in_time(document, now)
    if party.trust_domain == settings.trust_domain:
        raise InvitationRefused("The document is of this registry's own trust domain; expected another one.")
    require_name(party.registry_name, field="iss.registry_name")
    address = callable_address(party.public_url, settings.outgoing_allow_hosts, field="public_url")
    found = await read_publicly(runtime, address)
    thumbprint = document.signer_thumbprint(found.keys)
    if thumbprint is None:
        raise _refused("signature_invalid", f"no key of the registry at {address} signed the document")
    try:
        bundle = bundle_in_document(found.bundle, party.trust_domain)
    except BundleUnreadable as trouble:
        raise _refused("bundle_unreadable", str(trouble)) from None
    if bundle.thumbprint != party.bundle_sha256:
        raise _refused(
            "bundle_mismatch", "the registry publishes another trust bundle than the document states"
        )
    assert found.card is not None
    expected = ExpectedRegistry(party.trust_domain, settings.issuer or None, party.registry_name)
    try:
        card = judge_card(found.card, found.keys, expected, now=now)
    except CardRefused as refused:
        raise _refused(refused.reason, refused.said) from None
    if card.federation_base_url != party.federation_base_url:
        raise _refused("address_mismatch", "the card states another federation_base_url than the document")
    return VerifiedParty(party, bundle, thumbprint)


def _require_in_time(document: Document, now: datetime) -> None:
    if now >= document.expires_at:
        raise InvitationRefused(f"The document has expired at {document.expires_at.isoformat()}.")
    if document.issued_at > now + timedelta(seconds=CLOCK_SKEW_SECONDS):
        raise InvitationRefused("The document is dated in the future: compare the clocks of both registries.")


def _refused(reason: str, said: str) -> InvitationRefused:
    return InvitationRefused(f"The document is refused ({reason}): {said}.", context={"reason": reason})
