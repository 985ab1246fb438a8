"""Registry that an agent belongs to, by its DID: this one, or a direct peer.

Within a trust domain the claim of the DID says it. Elsewhere the namespace does, and where several peers share it, the mirrored
card.
"""

from collections.abc import Iterable, Sequence

from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.did import namespace_of
from hansa.rooms import catalogue, federation

FEE_PATH = "fees.cross_registry.base_rate_percent"


def names_another_issuer(did: str, settings: Settings) -> bool:
    """Return whether the DID itself says that it is of another trust domain."""
    return namespace_of(did) not in {None, settings.issuer, "system"}


async def foreign_among(tx: Tx, dids: Iterable[str], settings: Settings) -> set[str]:
    """Those of the DIDs that are of another registry: of another issuer, or held by another one of this trust domain."""
    asked = set(dids)
    named = {did for did in asked if names_another_issuer(did, settings)}
    shared = [did for did in asked if federation.is_shared(did, settings)]
    return named | set(await federation.held_elsewhere(tx, shared))


async def is_foreign(tx: Tx, did: str, settings: Settings) -> bool:
    """Return whether the DID is one of another registry, by the claims that are known here."""
    return bool(await foreign_among(tx, [did], settings))


async def is_elsewhere(runtime: Runtime, did: str) -> bool:
    """Return whether the DID is one of another registry, after asking the frame about a DID of this trust domain that is not known here.

    Never within a transaction. Raises: FrameUnavailable.
    """
    settings = runtime.settings
    if names_another_issuer(did, settings) or not federation.is_shared(did, settings):
        return names_another_issuer(did, settings)
    return await federation.is_held_elsewhere(runtime, did)


async def peer_of(tx: Tx, did: str, settings: Settings) -> federation.PeerRecord | None:
    """The direct peer that has the agent and was an active peer once; None where there is none."""
    return (await peers_of(tx, [did], settings))[did]


async def peers_of(
    tx: Tx, dids: Sequence[str], settings: Settings
) -> dict[str, federation.PeerRecord | None]:
    """Return the direct peer of each of several agents. See `peer_of`."""
    shared = [did for did in dids if federation.is_shared(did, settings)]
    holders = await federation.held_elsewhere(tx, shared)
    registries = {
        holder: None if holder is None else await federation.peer_by_spiffe_id(tx, holder)
        for holder in set(holders.values())
    }
    found: dict[str, federation.PeerRecord | None] = {}
    for did in shared:
        found[did] = _direct(registries.get(holders.get(did)))
    others: dict[str | None, list[str]] = {}
    for did in dids:
        if did not in found:
            others.setdefault(namespace_of(did), []).append(did)
    for namespace, named in others.items():
        peers = [] if namespace is None else await federation.peers_of_namespace(tx, namespace)
        homes = await catalogue.mirrored_homes(tx, named) if len(peers) > 1 else {}
        for did in named:
            known = [peer for peer in peers if did not in homes or peer.ledger_id == homes[did]]
            found[did] = _direct(known[0] if known else None)
    return found


def _direct(peer: federation.PeerRecord | None) -> federation.PeerRecord | None:
    if peer is None or peer.removing or peer.hop_distance > 1 or peer.approval == "pending":
        return None
    return peer if FEE_PATH in peer.signed else None
