"""Sign an invitation, and read the party that this registry is."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import uuid4

from hansa.foundation.plumbing.admin_acts import record_act
from hansa.foundation.plumbing.caller import Developer
from hansa.foundation.plumbing.database import Tx
from hansa.foundation.plumbing.runtime import Runtime
from hansa.rooms.federation.charter import present_signing_key
from hansa.rooms.federation.peers import FederationOff, own_bundle

from . import documents, store

LIFETIME_MIN_SECONDS = 60
LIFETIME_MAX_SECONDS = 604_800


@dataclass(frozen=True)
class SignedInvitation:
    """An invitation for the administrators of another registry."""

    text: str
    expires_at: datetime


async def invite(runtime: Runtime, administrator: Developer | None, lifetime: timedelta) -> SignedInvitation:
    """Sign an invitation that one registry redeems once. Raises: FederationOff, KeyDoesNotOpen."""
    party = await own_party(runtime)
    jti = uuid4()

    async def add(tx: Tx) -> SignedInvitation:
        expires_at = await store.add(tx, jti, lifetime)
        key = await present_signing_key(tx, runtime.seal)
        await record_act(tx, administrator, act="peer.invite", subject=str(jti))
        return SignedInvitation(documents.sign("invitation", key, party, jti, expires_at), expires_at)

    return await runtime.database.act(add)


async def own_party(runtime: Runtime) -> documents.Party:
    """What an invitation says of this registry. Raises: FederationOff, where peers cannot dial it."""
    settings = runtime.settings
    if settings.federation_address is None:
        raise FederationOff(
            "This registry has no address for peers: set FEDERATION_PORT or FEDERATION_BASE_URL."
        )
    bundle = await own_bundle(runtime.database, settings.trust_domain, runtime.authority)
    return documents.Party(
        settings.trust_domain,
        settings.registry_name,
        settings.base_url,
        settings.federation_address,
        bundle.thumbprint,
    )
