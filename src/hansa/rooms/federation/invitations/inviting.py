"""Sign and revoke invitations, and read the party that this registry is."""

from datetime import datetime, timedelta
from uuid import UUID, uuid4

import msgspec

from hansa.foundation.plumbing.keys.seal import Seal
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.settings import Settings, is_operator_name
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.admin_acts import record_act
from hansa.foundation.plumbing.web.caller import Developer
from hansa.rooms.federation.charter import present_signing_key
from hansa.rooms.federation.identity import FederationOff
from hansa.rooms.federation.peers import local_bundle, require_name

from . import documents, store
from .errors import InvitationUnknown, OperatorNotInvited
from .records import OpenInvitation

LIFETIME_MIN_SECONDS = 60
LIFETIME_MAX_SECONDS = 604_800
OPEN_SHOWN = 100


class SignedInvitation(msgspec.Struct, frozen=True):
    """An invitation for the administrators of another registry."""

    text: str
    expires_at: datetime


class NewInvitation(msgspec.Struct, frozen=True):
    """An invitation to be signed: the party that this registry is, its lifetime, and the operator registry that it is for."""

    party: documents.Party
    lifetime: timedelta
    operator: str | None


async def invite(
    runtime: Runtime, administrator: Developer | None, lifetime: timedelta, operator: str | None = None
) -> SignedInvitation:
    """Sign an invitation that one registry redeems once, with `operator` one of this name in this trust domain.

    Raises: FederationOff, KeyDoesNotOpen, OperatorNotInvited, PeerNameRefused.
    """
    new = await new_invitation(runtime, lifetime, operator)
    return await runtime.database.transaction(
        lambda tx: sign_invitation(tx, administrator, runtime.seal, new)
    )


async def new_invitation(runtime: Runtime, lifetime: timedelta, operator: str | None) -> NewInvitation:
    """Return the invitation to be signed. Raises: FederationOff, OperatorNotInvited, PeerNameRefused."""
    if operator is not None:
        _require_invitable(runtime.settings, operator)
    return NewInvitation(await own_party(runtime), lifetime, operator)


async def sign_invitation(
    tx: Tx, administrator: Developer | None, seal: Seal, new: NewInvitation
) -> SignedInvitation:
    """Write an invitation and sign it. Raises: KeyDoesNotOpen."""
    jti = uuid4()
    expires_at = await store.add(tx, jti, new.lifetime, new.operator)
    key = await present_signing_key(tx, seal)
    await record_act(tx, administrator, act="peer.invite", subject=str(jti), reason=new.operator)
    text = documents.sign("invitation", key, new.party, jti, expires_at, operator=new.operator)
    return SignedInvitation(text, expires_at)


async def open_invitations(tx: Tx) -> list[OpenInvitation]:
    """Invitations that can be redeemed, the newest first; at most 100."""
    return await store.open_invitations(tx, OPEN_SHOWN)


async def revoke_invitation(tx: Tx, administrator: Developer | None, jti: UUID) -> None:
    """End an invitation that nobody has redeemed. Raises: InvitationUnknown."""
    if not await store.revoke(tx, jti):
        raise InvitationUnknown
    await record_act(tx, administrator, act="peer.revoke_invitation", subject=str(jti))


def _require_invitable(settings: Settings, operator: str) -> None:
    """Raises: OperatorNotInvited, PeerNameRefused."""
    if not settings.issues_identities:
        raise OperatorNotInvited("Only a registry with a certificate authority of its own invites operators.")
    require_name(operator, field="operator")
    if not is_operator_name(operator) or operator != operator.strip("-."):
        raise OperatorNotInvited(
            "The name of an operator registry has 1 to 120 letters, digits, dots, underscores or hyphens, a dot or hyphen not first or last.",
            field="operator",
        )
    if operator == settings.registry_name:
        raise OperatorNotInvited(f"{operator} is the name of this registry.", field="operator")


async def own_party(runtime: Runtime) -> documents.Party:
    """Return the party that an invitation states for this registry. Raises: FederationOff, where peers cannot dial it."""
    settings = runtime.settings
    address = require_address(settings)
    bundle = await local_bundle(runtime)
    return documents.Party(
        settings.trust_domain,
        settings.registry_name,
        settings.base_url,
        address,
        bundle.thumbprint,
    )


def require_address(settings: Settings) -> str:
    """Return the address that peers dial. Raises: FederationOff, where they cannot."""
    if settings.federation_address is None:
        raise FederationOff(
            "This registry has no address for peers: set FEDERATION_PORT or FEDERATION_BASE_URL."
        )
    return settings.federation_address
