"""Verify who signed an invitation or acceptance, by the documents at its public address.

Place of the signer of an invitation or acceptance in relation to this registry, and the rules of joining inside one frame.

- A frame invites an operator by its name; the operator joins its frame first, and gets its certificates by that.
- Operators of one frame invite each other as registries of different trust domains do.
- No other registry of the own trust domain is a peer.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Literal

import msgspec

from hansa.foundation.plumbing.keys.trust_bundle import BundleUnreadable, TrustBundle
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.settings import Settings
from hansa.rooms.federation.peers import (
    CardRefused,
    ExpectedRegistry,
    PeerType,
    VerifiedCard,
    bundle_in_document,
    callable_address,
    judge_card,
    local_bundle,
    read_publicly,
    require_name,
)

from .documents import CLOCK_SKEW_SECONDS, Document, Party
from .errors import InvitationRefused
from .records import Invitation

Place = Literal["elsewhere", "frame", "operator"]
"""What the other registry is to this one: of another trust domain, this operator's frame, or an operator of the same frame."""
PEER_TYPES: dict[Place, PeerType] = {
    "elsewhere": "direct_peer",
    "frame": "frame",
    "operator": "cloud_operator",
}


class VerifiedParty(msgspec.Struct, frozen=True):
    """Another registry that proved by its key, card and bundle to be the party that it states."""

    party: Party
    bundle: TrustBundle
    signer_thumbprint: str
    card: VerifiedCard


async def verify_party(runtime: Runtime, document: Document, now: datetime, place: Place) -> VerifiedParty:
    """Read the registry at the stated address and compare it with the document. Never within a transaction.

    Inside one frame the roots are one: an operator's are compared with those of this registry, and kept as these.

    Raises: InvitationRefused, HostRefused, PeerNameRefused, PeerUnreachable, FederationOff.
    """
    party, settings = document.party, runtime.settings
    _require_in_time(document, now)
    require_name(party.registry_name, field="iss.registry_name")
    address = callable_address(party.public_url, settings.outgoing_allow_hosts, field="public_url")
    found = await read_publicly(runtime, address)
    thumbprint = document.signer_thumbprint(found.keys)
    if thumbprint is None:
        raise _refused("signature_invalid", f"no key of the registry at {address} signed the document")
    try:
        bundle = bundle_in_document(found.bundle, party.trust_domain)
    except BundleUnreadable as error:
        raise _refused("bundle_unreadable", str(error)) from None
    if bundle.thumbprint != party.bundle_sha256:
        raise _refused(
            "bundle_mismatch", "the registry publishes another trust bundle than the document states"
        )
    if place == "operator":
        bundle = await _own_roots(runtime, bundle)
    assert found.card is not None
    try:
        card = judge_card(found.card, found.keys, _expected(party, settings, place), now=now)
    except CardRefused as refused:
        raise _refused(refused.reason, refused.said, refused.verdicts) from None
    if card.federation_base_url != party.federation_base_url:
        said = "the card states another federation_base_url than the document"
        raise _refused("address_mismatch", said, card.verdicts)
    if place != "elsewhere" and card.settlement_currency != settings.settlement_currency:
        said = (
            f"a frame and its operators have one unit, here {settings.settlement_currency},"
            f" there {card.settlement_currency}"
        )
        raise _refused("currency_mismatch", said, card.verdicts)
    return VerifiedParty(party, bundle, thumbprint, card)


def _expected(party: Party, settings: Settings, place: Place) -> ExpectedRegistry:
    path = f"/registry/{party.registry_name}" if place == "operator" else ""
    return ExpectedRegistry(
        party.trust_domain,
        settings.issuer or None,
        party.registry_name,
        is_of_own_frame=place != "elsewhere",
        ledger_id=None if place == "elsewhere" else f"{party.trust_domain}{path}",
    )


async def _own_roots(runtime: Runtime, bundle: TrustBundle) -> TrustBundle:
    own = await local_bundle(runtime)
    if bundle.thumbprint != own.thumbprint:
        raise _refused("roots_differ", "the registry has not the roots of this trust domain")
    return own


def _require_in_time(document: Document, now: datetime) -> None:
    if now >= document.expires_at:
        raise InvitationRefused(f"The document has expired at {document.expires_at.isoformat()}.")
    if document.issued_at > now + timedelta(seconds=CLOCK_SKEW_SECONDS):
        raise InvitationRefused("The document is dated in the future: compare the clocks of both registries.")


def _refused(reason: str, said: str, verdicts: Sequence[Mapping[str, Any]] = ()) -> InvitationRefused:
    refusal = InvitationRefused(f"The document is refused ({reason}): {said}.", context={"reason": reason})
    refusal.verdicts = verdicts
    return refusal


def place_of_inviter(settings: Settings, document: Document) -> Place:
    """Return the place of the registry that invites. Raises: InvitationRefused."""
    party, operator = document.party, document.operator
    if operator is not None and (
        not settings.is_operator
        or (party.trust_domain, operator) != (settings.trust_domain, settings.registry_name)
    ):
        raise InvitationRefused(
            f"The invitation is for the operator registry {operator} of {party.trust_domain}: REGISTRY_TIER, REGISTRY_NAME"
            " and TRUST_DOMAIN of this registry make it another one.",
            field="invitation",
        )
    if operator is not None:
        return "frame"
    if party.trust_domain != settings.trust_domain:
        return "elsewhere"
    if party.registry_name == settings.registry_name:
        raise InvitationRefused(
            "This registry made the invitation itself; accept it at the registry that is invited.",
            field="invitation",
        )
    _require_other_operator(settings)
    return "operator"


def place_of_acceptor(settings: Settings, document: Document, invitation: Invitation) -> Place:
    """Return the place of the registry that accepts. Raises: InvitationRefused."""
    party, operator = document.party, invitation.operator
    if operator is not None:
        if (party.trust_domain, party.registry_name) != (settings.trust_domain, operator):
            raise InvitationRefused(
                f"The invitation is for the operator registry {operator} of this trust domain, and {party.registry_name} of"
                f" {party.trust_domain} accepts it.",
                field="acceptance",
            )
        return "operator"
    if document.csrs:
        raise InvitationRefused(
            "The acceptance has csrs, and the invitation is for no operator registry.", field="acceptance"
        )
    if party.trust_domain != settings.trust_domain:
        return "elsewhere"
    _require_other_operator(settings)
    if party.registry_name == settings.registry_name:
        raise InvitationRefused("The document is of this registry itself; expected another operator.")
    return "operator"


def _require_other_operator(settings: Settings) -> None:
    if not settings.is_operator:
        raise InvitationRefused(
            "The document is of this registry's own trust domain, whose registries join by an invitation of the frame for an"
            " operator."
        )
