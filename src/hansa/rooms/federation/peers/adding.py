"""Add a peer by hand: its address and trust bundle, compared by the administrator with those of the other registry."""

from collections.abc import Collection

from hansa.foundation.plumbing import jobs
from hansa.foundation.plumbing.keys.trust_bundle import BundleUnreadable, TrustBundle, read_bundle
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.telemetry.metrics import peer_refusals_total
from hansa.foundation.plumbing.web.admin_acts import record_act
from hansa.foundation.plumbing.web.caller import Developer
from hansa.foundation.values.errors import HostRefused
from hansa.foundation.values.web_address import read_web_address, require_callable

from . import store
from .errors import BundleRefused, PeerExists, PeerNameRefused
from .joining import add_peer
from .judging import NAME_SENTENCES, name_trouble
from .records import NewPeer, PeerRecord, PeerType
from .synchronizing import JOB

ADDRESS_SHOWN_CHARACTERS = 200


def new_peer(
    settings: Settings,
    *,
    registry_url: str,
    bundle: str,
    peer_type: PeerType,
    name: str | None,
    net_in_limit: int | None,
) -> NewPeer:
    """A peer to add, which is pending until the other side has added this registry.

    Raises: HostRefused and others for an address that is not allowed, BundleRefused, PeerNameRefused (counted in /metrics).
    """
    address = callable_address(registry_url, settings.outgoing_allow_hosts, field="registry_url")
    read = readable_bundle(bundle, settings.trust_domain)
    require_name(name)
    return NewPeer(address, read, "pending", peer_type, net_in_limit, name)


async def add_by_hand(tx: Tx, administrator: Developer | None, new: NewPeer) -> PeerRecord:
    """Write a pending peer, and let it be read at once. Raises: PeerExists, RootCollision."""
    await store.lock_trust(tx)
    known = await store.lock_registry(
        tx, new.bundle.trust_domain, new.registry_name or new.bundle.trust_domain
    )
    if known is not None or await store.has_address(tx, new.bundle.trust_domain, new.registry_url):
        raise PeerExists(
            f"The registry of {new.bundle.trust_domain} at {new.registry_url} is a peer already."
        )
    peer = await add_peer(tx, new)
    await record_act(tx, administrator, act="peer.add", subject=peer.trust_domain)
    await jobs.enqueue(tx, JOB, str(peer.id))
    return peer


def callable_address(url: str, allowed: Collection[str], *, field: str) -> str:
    """An address that may be dialled, without a trailing slash. Raises: HostRefused, naming the address and the setting."""
    try:
        require_callable(url, allowed, field=field)
    except HostRefused as error:
        raise HostRefused(_why_not_called(url, error.detail), field=field) from None
    if "?" in url:
        raise HostRefused("The address of a registry has no query.", field=field)
    return url.rstrip("/")


def _why_not_called(url: str, said: str) -> str:
    """Return why an address of a registry is not called, and the remedy for its operator."""
    address = read_web_address(url)
    if address is None:
        return f"The address of the other registry, {url[:ADDRESS_SHOWN_CHARACTERS]!r}, is refused: {said}"
    return (
        f"The other registry at {address.scheme}://{address.place} is not called: {said}"
        f" In a network of your own, add {address.place} to OUTGOING_ALLOW_HOSTS, and its port for mutual TLS as well."
    )


def readable_bundle(text: str, own_trust_domain: str) -> TrustBundle:
    """The bundle of another trust domain. Raises: BundleRefused."""
    try:
        bundle = read_bundle(text)
    except BundleUnreadable as error:
        raise BundleRefused(f"The trust bundle cannot be used: {error}.", field="bundle") from None
    if bundle.trust_domain == own_trust_domain:
        raise BundleRefused(
            "The trust bundle is that of this registry's own trust domain, whose registries join by an invitation of the frame.",
            field="bundle",
        )
    return bundle


def require_name(name: str | None, *, field: str = "name") -> None:
    """Raises: PeerNameRefused, counted by its reason."""
    reason = None if name is None else name_trouble(name, None)
    if reason is not None:
        peer_refusals_total.labels(reason).inc()
        raise PeerNameRefused(
            f"The name {name!r} is refused: {NAME_SENTENCES[reason]}.",
            field=field,
            context={"reason": reason},
        )
