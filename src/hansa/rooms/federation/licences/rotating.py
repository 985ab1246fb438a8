"""Rotate the licence-signing key.

- A registry without a network certificate signs with the new key at once.
- A frame has two steps, because its certificate names its key: the new key waits until the certificate that the genesis
  issues to it is installed. Until then everything stays valid under the present key.
- On a new key the active certificates of operators are issued anew in the same transaction.
- The key of the genesis is never rotated: its certificate is the root that every registry of the network pins.
"""

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hansa.foundation.plumbing.keys.seal import Seal
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.admin_acts import record_act
from hansa.foundation.plumbing.web.caller import Developer
from hansa.foundation.values.jwk import thumbprint

from . import store
from .errors import GenesisKeyFixed
from .issuing import reissue_operators
from .keys import begin_key


class NewLicensingKey(msgspec.Struct, frozen=True):
    """The public half of a new licence-signing key, and whether it waits for its certificate."""

    public_key: bytes
    is_waiting: bool


async def rotate_licensing_key(
    tx: Tx,
    administrator: Developer | None,
    settings: Settings,
    seal: Seal,
    brought: Ed25519PrivateKey | None = None,
    *,
    reason: str | None,
) -> NewLicensingKey:
    """Begin a new key, the one brought or one made here; a former one that waits is dropped.

    Raises: GenesisKeyFixed, KeyUnusable, CertificateRefused.
    """
    await store.lock(tx)
    await store.lock_keys(tx)
    if await store.genesis(tx) is not None:
        raise GenesisKeyFixed
    is_waiting = await store.installed(tx) is not None
    public_key = await begin_key(tx, seal, brought, is_next=is_waiting)
    act, kid = "licensing_key.rotate", thumbprint(public_key)
    await record_act(tx, administrator, act=act, subject=kid, reason=reason)
    if not is_waiting:
        await reissue_operators(tx, administrator, settings, seal)
    return NewLicensingKey(public_key, is_waiting)
