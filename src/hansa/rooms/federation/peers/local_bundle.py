"""Trust bundle of this registry, by which other registries judge its certificates."""

from datetime import timedelta
from functools import lru_cache

from hansa.foundation.plumbing.keys.authority import KEY_NAME
from hansa.foundation.plumbing.keys.registry_identity import fingerprint_of_authority, key_recorded
from hansa.foundation.plumbing.keys.trust_bundle import TrustBundle, bundle_of
from hansa.foundation.plumbing.process.periodic_tasks import PeriodicTask
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.errors import Conflict
from hansa.rooms.federation.identity import LOCAL_IDENTITY
from hansa.rooms.federation.notices import notify_peers

from . import store


async def local_bundle(runtime: Runtime) -> TrustBundle:
    """The roots of this trust domain. The sequence grows by one when they are not those that were shown last.

    Raises: FederationOff.
    """
    database, bundle = runtime.database, await uncounted_bundle(runtime)
    sequence = await database.query(lambda tx: store.own_sequence(tx, bundle.thumbprint))
    if sequence is None:
        sequence = await database.transaction(lambda tx: _count(tx, bundle))
    return TrustBundle(bundle.trust_domain, bundle.roots, sequence)


async def _count(tx: Tx, bundle: TrustBundle) -> int:
    """Peers are notified: their calls are refused once a root that they do not know signs."""
    sequence = await store.count_local_bundle(tx, bundle.thumbprint)
    await notify_peers(tx)
    return sequence


async def uncounted_bundle(runtime: Runtime) -> TrustBundle:
    """The roots of this trust domain, without their sequence. Raises: FederationOff."""
    return _uncounted(runtime.settings.trust_domain, await LOCAL_IDENTITY.of(runtime).roots_pem())


@lru_cache(maxsize=8)
def _uncounted(trust_domain: str, pem: str) -> TrustBundle:
    return bundle_of(trust_domain, pem, 0)


async def published_for(tx: Tx, bundle: TrustBundle) -> timedelta | None:
    """For how long exactly these roots have been published; None where others are."""
    return await store.own_bundle_age(tx, bundle.thumbprint)


async def _follow_authority(runtime: Runtime) -> None:
    """Take the file of the authority over where it changed and its key is the recorded one; peers are notified of the roots."""
    authority = runtime.authority
    if authority is None or (file := authority.changed()) is None:
        return
    recorded, _ = await runtime.database.query(lambda tx: key_recorded(tx, KEY_NAME))
    if fingerprint_of_authority(KEY_NAME, file.pem) != recorded:
        raise Conflict("The authority in DIR/keys is not the one of this registry; it is not used.")
    authority.use(file)
    await local_bundle(runtime)


FOLLOW_AUTHORITY = PeriodicTask("federation: follow the own authority", 1.0, _follow_authority)
