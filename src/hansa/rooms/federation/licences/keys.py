"""The licence-signing key: begun with the registry, another one than that of its card, sealed like it."""

from hashlib import sha256

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hansa.foundation.plumbing.keys.seal import BadSeal, Seal, SealedColumn
from hansa.foundation.plumbing.keys.sealed_keys import KeyUnusable, close_key, open_key
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.log_outbox import record_leaf
from hansa.foundation.values.jwk import thumbprint

from . import store
from .errors import LicensingKeySealed
from .records import LicensingKey

SEALED_FOR = "federation licence-signing key"
SEALED_LICENSING_KEYS = SealedColumn("federation_licensing_key", "kid", "sealed_key", lambda _: SEALED_FOR)


async def initialize_licensing_key(tx: Tx, seal: Seal) -> None:
    """Begin the first key, where there is none."""
    await store.lock_keys(tx)
    if await store.sealed_key(tx) is None:
        await begin_key(tx, seal)


async def replace_sealed_licensing_key(tx: Tx, seal: Seal) -> None:
    """Begin another key where the present one was sealed under a sealing key that is lost."""
    await store.lock_keys(tx)
    try:
        await present_key(tx, seal)
    except LicensingKeySealed:
        await begin_key(tx, seal)


async def present_key(tx: Tx, seal: Seal) -> LicensingKey:
    """The key to sign with now. Raises: LicensingKeySealed."""
    found = await store.sealed_key(tx)
    if found is None:
        raise LicensingKeySealed
    kid, public_key, sealed = found
    try:
        private = open_key(seal, sealed, SEALED_FOR)
    except BadSeal:
        raise LicensingKeySealed from None
    return LicensingKey(kid, public_key, private)


async def licensing_public_key(tx: Tx) -> bytes:
    """The public half of the present key. Raises: LicensingKeySealed."""
    found = await store.sealed_key(tx)
    if found is None:
        raise LicensingKeySealed
    return found[1]


async def begin_key(
    tx: Tx, seal: Seal, brought: Ed25519PrivateKey | None = None, *, is_next: bool = False
) -> bytes:
    """Begin a key, or the one that waits for its certificate; returns its public half. The keys are locked.

    Raises: KeyUnusable.
    """
    private = brought or Ed25519PrivateKey.generate()
    public = private.public_key().public_bytes_raw()
    kid, sealed = thumbprint(public), close_key(seal, private, SEALED_FOR)
    if brought is not None and await store.was_held(tx, kid):
        raise KeyUnusable
    await (store.put_next_key if is_next else store.succeed_key)(tx, kid, public, sealed)
    await record_leaf(tx, "licensing_key", kid, sha256(public).digest())
    return public
