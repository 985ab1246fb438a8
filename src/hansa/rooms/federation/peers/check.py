"""Check of the client certificate of a peer's registry, made for every request to a route for peers.

- Only the exact SPIFFE id of the peer's verified card counts, `/registry/<name>` (Specification 6 W 1). Another identity of
  a peer's trust domain is refused and counted `wrong_identity`.
- The certificate is verified here by the peer's own bundle, also when a proxy forwards it.
"""

from datetime import datetime

from cryptography import x509
from cryptography.hazmat.primitives.hashes import SHA256

from hansa.foundation.plumbing.keys.trust_bundle import LeafRefused, TrustBundle, domain_of, uris_of
from hansa.foundation.plumbing.process.runtime import Runtime, Slot
from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.telemetry.metrics import begin, peer_refusals_total
from hansa.foundation.plumbing.web.peer_caller import NotAPeer, Peer
from hansa.rooms.federation.charter import registry_id_of

from . import store
from .judging import NAME_SENTENCES
from .reading import count_refusal
from .records import Approval, PeerRecord

WRONG_IDENTITY = "wrong_identity"
REMEMBERED_MAX = 4096
begin(peer_refusals_total, (WRONG_IDENTITY, *NAME_SENTENCES))


class RecognisedLeaves:
    """Leaves that were verified, each by its bundle, so that a connection pays for it once."""

    def __init__(self) -> None:
        self._known: dict[tuple[bytes, str], tuple[datetime, datetime]] = {}

    def require(self, bundle: TrustBundle, leaf: x509.Certificate, now: datetime) -> None:
        """Raises: LeafRefused, unless these roots certify the leaf at `now`."""
        key = (leaf.fingerprint(SHA256()), bundle.thumbprint)
        window = self._known.get(key)
        if window is None:
            bundle.recognise(leaf, now=now)
            if len(self._known) >= REMEMBERED_MAX:
                self._known.clear()
            roots_end = min(root.not_valid_after_utc for root in bundle.roots)
            window = leaf.not_valid_before_utc, min(leaf.not_valid_after_utc, roots_end)
            self._known[key] = window
        if not window[0] <= now <= window[1]:
            del self._known[key]
            bundle.recognise(leaf, now=now)


RECOGNISED_LEAVES: Slot[RecognisedLeaves] = Slot(
    "federation: leaves of peers that were verified", build=lambda _: RecognisedLeaves()
)


async def check_peer(runtime: Runtime, leaf: x509.Certificate) -> Peer:
    """The peer whose registry shows this certificate; also a paused or quarantined one. Raises: NotAPeer."""
    uris = uris_of(leaf)
    spiffe_id = uris[0] if len(uris) == 1 else ""
    found, now = await runtime.database.query(lambda tx: store.presented(tx, spiffe_id))
    if found is None:
        await _count_wrong_identity(runtime, spiffe_id, leaf, now)
        raise NotAPeer
    peer, bundle = found
    try:
        RECOGNISED_LEAVES.of(runtime).require(bundle, leaf, now)
    except LeafRefused:
        raise NotAPeer(
            "This client certificate is not one that the peer's trust bundle certifies now."
        ) from None
    return peer


async def approval_of(runtime: Runtime, leaf: x509.Certificate) -> Approval | None:
    """How the registry that shows this certificate stands here; None: it was not added, or another identity is shown."""
    uris = uris_of(leaf)
    spiffe_id = uris[0] if len(uris) == 1 else ""
    found = await runtime.database.query(lambda tx: _added(tx, spiffe_id))
    now = await runtime.database.query(clock.now)
    for peer in found:
        if not peer.removing and _certifies(runtime, peer, leaf, now):
            return peer.approval
    return None


async def _added(tx: Tx, spiffe_id: str) -> list[PeerRecord]:
    """The peer of this SPIFFE id, or those of its trust domain that were added under no other one and are still to be read."""
    known = await store.of_spiffe_id(tx, spiffe_id)
    if known is not None:
        return [known]
    domain = domain_of(spiffe_id) or ""
    return [
        peer
        for peer in await store.unverified(tx, domain)
        if peer.registry_name == domain or registry_id_of(domain, peer.registry_name) == spiffe_id
    ]


async def _count_wrong_identity(
    runtime: Runtime, spiffe_id: str, leaf: x509.Certificate, now: datetime
) -> None:
    """Count against the peer of the trust domain, if it certified the leaf: an unknown certificate counts against no peer.

    Inside the own frame all share one authority: a certificate counts against the operator whose name it states.
    """
    domain = domain_of(spiffe_id) or ""
    name = registry_id_of(domain, spiffe_id.rpartition("/")[2])

    async def read(tx: Tx) -> list[PeerRecord]:
        if domain != runtime.settings.trust_domain:
            return await store.named(tx, domain)
        operator = await store.of_spiffe_id(tx, name)
        return [] if operator is None else [operator]

    found = await runtime.database.query(read)
    certified = [peer for peer in found if _certifies(runtime, peer, leaf, now)]
    if certified:
        await runtime.database.transaction(lambda tx: count_refusal(tx, certified[0].id, WRONG_IDENTITY))
    else:
        peer_refusals_total.labels(WRONG_IDENTITY).inc()


def _certifies(runtime: Runtime, peer: PeerRecord, leaf: x509.Certificate, now: datetime) -> bool:
    try:
        RECOGNISED_LEAVES.of(runtime).require(peer.bundle, leaf, now)
    except LeafRefused:
        return False
    return True
