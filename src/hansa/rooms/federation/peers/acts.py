"""Acts of administrators on a peer: pause, resume, quarantine, release, remove, limits.

A peer is named by its registry name, trust domain or ledger id, or by its number.
"""

import msgspec

from hansa.foundation.events import PeerRegistryDeactivated, RegistryQuarantined
from hansa.foundation.plumbing import jobs
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.admin_acts import record_act
from hansa.foundation.plumbing.web.caller import Developer
from hansa.foundation.values.money import format_amount
from hansa.rooms import journal

from . import acts_store, store
from .errors import PeerRemoving, PeerStateRefused, PeerUnknown
from .joining import note_federated
from .reading import peer_by_id, peer_by_name
from .records import PeerRecord
from .slots import PEER_ENDED, PEER_REMOVED, PEER_SETTLED
from .synchronizing import JOB

NUMBER_MAX_DIGITS = 18


class AutoSlash(msgspec.Struct, frozen=True):
    """Bounds of the slashes requested by a peer that are approved without an administrator; `most` in whole units."""

    is_enabled: bool
    most: int


async def set_auto_slash(tx: Tx, administrator: Developer, named: str, bounds: AutoSlash) -> PeerRecord:
    """Set the bounds for a peer, named by its number or its name. Raises: PeerUnknown, PeerAmbiguous, PeerRemoving."""
    is_number = named.isascii() and named.isdigit() and len(named) <= NUMBER_MAX_DIGITS
    peer = await _locked(tx, int(named) if is_number else named)
    await acts_store.set_auto_slash(tx, peer.id, is_enabled=bounds.is_enabled, most=bounds.most)
    await _record(tx, administrator, "auto_slash", peer)
    return await peer_by_id(tx, peer.id)


async def set_net_in_limit(
    tx: Tx, administrator: Developer | None, name: str | int, limit: int | None
) -> PeerRecord:
    """Set the minor units that a peer may bring in more than it takes out, None: unlimited. A reservation that was made stays.

    Raises: PeerUnknown, PeerAmbiguous, PeerRemoving.
    """
    peer = await _locked(tx, name)
    await acts_store.set_net_in_limit(tx, peer.id, limit)
    await _record(
        tx, administrator, "net_in_limit", peer, "unlimited" if limit is None else format_amount(limit)
    )
    return await peer_by_id(tx, peer.id)


async def pause_peer(tx: Tx, administrator: Developer | None, name: str | int) -> PeerRecord:
    """Exchange nothing new with a peer until it is resumed; idempotent. Raises: PeerUnknown, PeerAmbiguous, PeerRemoving."""
    peer = await _locked(tx, name)
    if await acts_store.pause(tx, peer.id):
        await journal.append(tx, PeerRegistryDeactivated(peer.registry_name, peer.trust_domain, "paused"))
        await _record(tx, administrator, "pause", peer)
    return await peer_by_id(tx, peer.id)


async def resume_peer(tx: Tx, administrator: Developer | None, name: str | int) -> PeerRecord:
    """End a pause, or approve a pending peer; it is active once its documents were verified. Idempotent.

    Raises: PeerUnknown, PeerAmbiguous, PeerRemoving.
    """
    peer = await _locked(tx, name)
    if await acts_store.resume(tx, peer.id):
        await _record(tx, administrator, "resume", peer)
    activated = await store.activate(tx, peer.id)
    if activated is not None:
        await note_federated(tx, activated)
    await jobs.enqueue(tx, JOB, str(peer.id))
    return activated or await peer_by_id(tx, peer.id)


async def quarantine_peer(
    tx: Tx, administrator: Developer | None, name: str | int, reason: str
) -> PeerRecord:
    """Accept nothing from a peer and cross nothing with it; acts under way are decided.

    Raises: PeerUnknown, PeerAmbiguous, PeerRemoving, PeerStateRefused.
    """
    peer = await _locked(tx, name)
    if not await acts_store.quarantine(tx, peer.id, reason):
        raise PeerStateRefused("The peer is under quarantine already.")
    await journal.append(tx, RegistryQuarantined(peer.registry_name, peer.trust_domain))
    await _record(tx, administrator, "quarantine", peer, reason)
    return await peer_by_id(tx, peer.id)


async def release_peer(tx: Tx, administrator: Developer | None, name: str | int, reason: str) -> PeerRecord:
    """End the quarantine of a peer. Raises: PeerUnknown, PeerAmbiguous, PeerRemoving, PeerStateRefused."""
    peer = await _locked(tx, name)
    if not await acts_store.release(tx, peer.id):
        raise PeerStateRefused("The peer is not under quarantine.")
    if peer.status == "active":
        await note_federated(tx, peer)
    await _record(tx, administrator, "release", peer, reason)
    return await peer_by_id(tx, peer.id)


async def remove_peer(
    tx: Tx, administrator: Developer | None, runtime: Runtime, name: str | int, *, abandon: bool = False
) -> tuple[PeerRecord, bool]:
    """Trust a peer no longer and delete the data accepted from it; returns the peer, and whether its row is gone too.

    The row stays, `removing`, while something is under way with it, unless that is abandoned: then it ends in this transaction.

    Raises: PeerUnknown, PeerAmbiguous.
    """
    await store.lock_trust(tx)
    peer = await _named(tx, name)
    locked = await store.lock(tx, peer.id)
    if locked is None:
        raise PeerUnknown
    if not locked.removing:
        await acts_store.begin_removal(tx, peer.id)
        await PEER_REMOVED.of(runtime)(tx, locked)
        await journal.append(tx, PeerRegistryDeactivated(peer.registry_name, peer.trust_domain, "removed"))
        await jobs.withdraw(tx, JOB, [str(peer.id)])
    if abandon or not locked.removing:
        await _record(tx, administrator, "abandon" if abandon else "remove", peer)
    return peer, await _delete_settled(tx, runtime, locked, abandon=abandon)


async def finish_removals(tx: Tx, runtime: Runtime) -> None:
    """Delete the peers that are being removed and with which nothing is under way any more."""
    await store.lock_trust(tx)
    for peer_id in await acts_store.removing(tx):
        peer = await store.lock(tx, peer_id)
        if peer is not None:
            await _delete_settled(tx, runtime, peer)


async def _delete_settled(tx: Tx, runtime: Runtime, peer: PeerRecord, *, abandon: bool = False) -> bool:
    if not abandon and not await PEER_SETTLED.of(runtime)(tx, peer):
        return False
    await PEER_ENDED.of(runtime)(tx, runtime, peer)
    await acts_store.delete(tx, peer.id)
    return True


async def _named(tx: Tx, name: str | int) -> PeerRecord:
    return await (peer_by_id(tx, name) if isinstance(name, int) else peer_by_name(tx, name))


async def _locked(tx: Tx, name: str | int) -> PeerRecord:
    """The peer, which nobody else changes until the transaction ends. Raises: PeerUnknown, PeerAmbiguous, PeerRemoving."""
    await store.lock_trust(tx)
    peer = await _named(tx, name)
    locked = await store.lock(tx, peer.id)
    if locked is None or locked.removing:
        raise PeerRemoving
    return locked


async def _record(
    tx: Tx, administrator: Developer | None, act: str, peer: PeerRecord, reason: str | None = None
) -> None:
    subject = peer.ledger_id or peer.trust_domain
    await record_act(tx, administrator, act=f"peer.{act}", subject=subject, reason=reason)
