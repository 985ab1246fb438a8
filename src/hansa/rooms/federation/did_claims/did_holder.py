"""Registry of this trust domain that has a DID, by the claims that are known here (Specification 6 W 6).

Registries of one trust domain share the namespace of their DIDs. A DID of that namespace is this registry's own unless it is
known that another one holds it.
"""

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256

from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.did import namespace_of
from hansa.rooms.federation.peers import PeerRecord

from . import store
from .errors import DidNotConfirmed, DidRefused

RETRY_SECONDS = 5


def digest_of(did: str) -> bytes:
    """Return the digest that names a DID in claims: its SHA-256."""
    return sha256(did.encode()).digest()


def is_shared(did: str, settings: Settings) -> bool:
    """Return whether the DID has the namespace of this registry's trust domain, in which other registries may mint as well."""
    return bool(settings.issuer) and namespace_of(did) == settings.issuer


async def held_elsewhere(tx: Tx, dids: Iterable[str]) -> Mapping[str, str | None]:
    """Return those of the DIDs that another registry of this trust domain holds, with its SPIFFE id.

    None stands for a registry that is not known: the frame refused the claim of this one.
    """
    digests = {digest_of(did): did for did in dids}
    found = await store.elsewhere(tx, sorted(digests)) if digests else {}
    return {digests[digest]: holder for digest, holder in found.items()}


async def is_own_did(tx: Tx, did: str, settings: Settings) -> bool:
    """Return whether the DID is one of this registry: of its namespace, and held by no other registry of its trust domain."""
    return is_shared(did, settings) and not await held_elsewhere(tx, [did])


async def speaks_for(tx: Tx, peer: PeerRecord, did: str, settings: Settings) -> bool:
    """Return whether the peer may make statements on the agent: it proved the namespace, inside the own trust domain the DID."""
    if is_shared(did, settings):
        return (await held_elsewhere(tx, [did])).get(did) == peer.spiffe_id
    return namespace_of(did) is not None and namespace_of(did) == peer.did_namespace


async def require_confirmed(tx: Tx, dids: Sequence[str], settings: Settings) -> None:
    """Require that the frame has confirmed the DIDs of an order that leaves this registry. Raises: DidNotConfirmed, DidRefused."""
    if not settings.is_operator:
        return
    states = await store.own_not_held(tx, [digest_of(did) for did in dids])
    if "refused" in states.values():
        raise DidRefused
    if states:
        raise DidNotConfirmed(retry_after=RETRY_SECONDS)


async def unconfirmed(tx: Tx, dids: Sequence[str]) -> Mapping[str, str]:
    """Return those of these own DIDs that the frame has not confirmed: `waiting` or `refused`."""
    digests = {digest_of(did): did for did in dids}
    found = await store.own_not_held(tx, sorted(digests))
    return {digests[digest]: state for digest, state in found.items()}
