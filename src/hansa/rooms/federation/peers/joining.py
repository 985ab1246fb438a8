"""Write a peer, and the statements of its verified card."""

from asyncpg import UniqueViolationError

from hansa.foundation.events import RegistryFederated
from hansa.foundation.plumbing.keys.trust_bundle import TrustBundle
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import journal

from . import store
from .errors import PeerExists, PeerUnknown, RootCollision
from .reading import peer_by_id
from .records import NewPeer, PeerRecord, VerifiedCard


async def add_peer(tx: Tx, new: NewPeer) -> PeerRecord:
    """Write a peer: active where it is approved and its card was verified. Raises: PeerExists, RootCollision."""
    await store.lock_trust(tx)
    await require_own_roots(tx, new.bundle)
    name = new.registry_name or (new.card.registry_name if new.card else new.bundle.trust_domain)
    peer = await store.add(tx, new, name)
    if new.card is not None:
        peer = await store_card(tx, peer.id, new.card)
    return await store.activate(tx, peer.id) or peer


async def admit_peer(tx: Tx, new: NewPeer) -> PeerRecord:
    """Write a peer that both sides approved, or approve the one that is there, with this bundle from now on.

    An approval by invitation is one of the roots as well: a peer that lost its root comes back by it. It also ends a removal
    that waits: where both sides removed each other, neither could ask the other about transfers that are under way.

    Raises: RootCollision.
    """
    assert new.registry_name is not None
    await store.lock_trust(tx)
    known = await store.lock_registry(tx, new.bundle.trust_domain, new.registry_name)
    if known is None:
        return await add_peer(tx, new)
    await require_own_roots(tx, new.bundle)
    await store.approve_anew(tx, known.id, new)
    activated = await store.activate(tx, known.id)
    if activated is not None:
        await note_federated(tx, activated)
    return activated or await peer_by_id(tx, known.id)


async def note_federated(tx: Tx, peer: PeerRecord) -> None:
    """Append that the peer is active from now on."""
    assert peer.ledger_id is not None
    await journal.append(tx, RegistryFederated(peer.registry_name, peer.trust_domain, peer.ledger_id))


async def store_card(tx: Tx, peer_id: int, card: VerifiedCard) -> PeerRecord:
    """Write the members of a verified card. Raises: PeerExists for the card of another peer, PeerUnknown."""
    try:
        async with tx.transaction():
            peer = await store.set_card(tx, peer_id, card)
    except UniqueViolationError:
        raise PeerExists(f"Another peer is the registry {card.ledger_id} already.") from None
    if peer is None:
        raise PeerUnknown
    return peer


async def require_own_roots(tx: Tx, bundle: TrustBundle) -> None:
    """No root has the subject and key identifier of a root of another trust domain. Raises: RootCollision.

    A certificate chain finds its root by these two. One that took the place of another's would end that one's connections.
    """
    for other in await store.bundles_of_others(tx, bundle.trust_domain):
        if other.subjects & bundle.subjects:
            raise RootCollision(context={"trust_domain": other.trust_domain})
