"""A registry has a key before it serves, and one under its own name."""

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hansa.foundation.plumbing.keys.seal import Seal
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx

from . import store
from .errors import KeyDoesNotOpen
from .rotate import begin_key
from .rules import registry_id_of
from .signatory import opened


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
