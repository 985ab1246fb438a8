"""The frame's side: it keeps which registry of its trust domain holds a DID. The first claim counts, for good."""

from collections.abc import Sequence

from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.peer_caller import Peer
from hansa.rooms.federation.charter import registry_id_of

from . import store
from .errors import DidClaimed, DidQuotaReached, NotInThisFrame

CLAIMED_BY_ANOTHER = "did_claimed_by_another"
QUOTA_REACHED = "did_quota_reached"


def require_operator(caller: Peer, settings: Settings) -> None:
    """Raises: NotInThisFrame, unless this is the frame of the caller."""
    if settings.is_operator or caller.trust_domain != settings.trust_domain:
        raise NotInThisFrame


async def claim_dids(tx: Tx, caller: Peer, digests: Sequence[bytes], settings: Settings) -> None:
    """Write that the caller holds the DIDs of these digests; a claim that it has already stays as it is.

    Raises: DidClaimed with the digests of others, DidQuotaReached; then `tx` is to be rolled back.
    """
    new = await store.claim(tx, digests, caller.spiffe_id)
    others = await store.held_by_others(tx, digests, caller.spiffe_id)
    if others:
        raise DidClaimed(context={"digests": [digest.hex() for digest in others]})
    most = settings.operator_dids_max
    if new and not await store.count_claims(tx, caller.spiffe_id, new, most):
        raise DidQuotaReached(context={"most": most})


async def holders_of(tx: Tx, digests: Sequence[bytes], settings: Settings) -> list[tuple[bytes, str]]:
    """Return those of the digests whose DIDs are claimed, with the SPIFFE id of the registry."""
    own = registry_id_of(settings.trust_domain, settings.registry_name)
    return [(digest, holder or own) for digest, holder in await store.holders(tx, digests)]
