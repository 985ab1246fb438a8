"""Begin a new key. The one before is retired at the same moment and its private half forgotten.

A registry has a key before it serves, and one under its own name.

Read the registry's keys.
"""

from hashlib import sha256

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hansa.foundation.plumbing.keys.seal import Seal
from hansa.foundation.plumbing.keys.sealed_keys import KeyUnusable, close_key
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.log_outbox import record_leaf
from hansa.foundation.plumbing.web.admin_acts import record_admin_act
from hansa.foundation.plumbing.web.caller import Developer

from . import store
from .card_publication import sign_card_anew
from .errors import KeyDoesNotOpen
from .records import RegistryKey
from .rules import SEALED_FOR, registry_id_of
from .signatory import opened


async def rotate_key(
    tx: Tx, settings: Settings, seal: Seal, brought: Ed25519PrivateKey | None = None
) -> RegistryKey:
    """Sign with a new key from now on: the one brought, or one made here. Raises: KeyUnusable."""
    await store.lock_keys(tx)
    if brought is not None and await store.was_held(tx, brought.public_key().public_bytes_raw()):
        raise KeyUnusable
    key = await begin_key(tx, settings, seal, brought or Ed25519PrivateKey.generate())
    await sign_card_anew(tx, seal)
    return key


async def rotate_as_administrator(
    tx: Tx, administrator: Developer, settings: Settings, seal: Seal, *, reason: str | None
) -> RegistryKey:
    """Rotate the key with one made here, recorded in the audit log. See `rotate_key`."""
    key = await rotate_key(tx, settings, seal)
    await record_admin_act(tx, administrator, act="registry_key.rotate", subject=key.kid, reason=reason)
    return key


async def begin_key(tx: Tx, settings: Settings, seal: Seal, key: Ed25519PrivateKey) -> RegistryKey:
    """The next key. The keys are locked."""
    registry_id = registry_id_of(settings.trust_domain, settings.registry_name)
    begun = await store.succeed(tx, registry_id, key, close_key(seal, key, SEALED_FOR))
    await record_leaf(tx, "registry_key", begun.kid, sha256(begun.public_key).digest())
    return begun


async def initialize_keys(tx: Tx, settings: Settings, seal: Seal) -> None:
    """Begin the first key, or another one where the registry is called otherwise than before; else nothing."""
    await store.lock_keys(tx)
    present = await store.present(tx)
    if present is not None and present.key.registry_id == registry_id_of(
        settings.trust_domain, settings.registry_name
    ):
        return
    await begin_key(tx, settings, seal, Ed25519PrivateKey.generate())


async def replace_sealed_key(tx: Tx, settings: Settings, seal: Seal) -> None:
    """Begin another key where the present one was sealed under a sealing key that is lost."""
    await store.lock_keys(tx)
    try:
        await require_present_key(tx, seal)
    except KeyDoesNotOpen:
        await begin_key(tx, settings, seal, Ed25519PrivateKey.generate())


async def require_present_key(tx: Tx, seal: Seal) -> None:
    """Raises: KeyDoesNotOpen."""
    present = await store.present(tx)
    if present is None:
        raise KeyDoesNotOpen
    opened(present, seal)


async def published_keys(tx: Tx) -> list[RegistryKey]:
    """The present key and those in their grace, the newest first."""
    return await store.keys_in_grace(tx)


async def all_keys(tx: Tx) -> list[RegistryKey]:
    """Every key there ever was, the newest first."""
    return await store.history(tx)
