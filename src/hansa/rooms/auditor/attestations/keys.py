"""The auditor's signing keys: begun with the registry, replaced under the lock of the chain, never forgotten.

The private half of a retired key is kept for 7 days, in which checkpoints are signed by both keys.
"""

from hashlib import sha256

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hansa.foundation.plumbing.keys.seal import BadSeal, Seal, SealedColumn
from hansa.foundation.plumbing.keys.sealed_keys import KeyUnusable, close_key, open_key
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.log_outbox import record_leaf
from hansa.foundation.plumbing.web.admin_acts import record_admin_act
from hansa.foundation.plumbing.web.caller import Developer
from hansa.rooms import federation
from hansa.rooms.auditor.transparency import lock_log

from . import store
from .errors import AuditorKeySealed
from .records import AuditorKey, SigningKey
from .rules import kid_of

SEALED_FOR = "auditor signing key"
SEALED_AUDITOR_KEYS = SealedColumn("auditor_key", "kid", "sealed_key", lambda _: SEALED_FOR)
GRACE_DAYS = 7


async def initialize_attestations(tx: Tx, frame: str, seal: Seal) -> bool:
    """Open the chain and begin the first key, where they are not there. Returns whether the chain has a record."""
    await store.open_chain(tx, frame)
    chain = await store.lock_chain(tx, frame)
    if await store.sealed_current_key(tx) is None:
        await _begin_key(tx, seal)
    return chain.head_id > 0


async def replace_sealed_auditor_key(tx: Tx, frame: str, seal: Seal) -> None:
    """Begin another key where the current one was sealed under a sealing key that is lost."""
    try:
        await current_key(tx, seal)
    except AuditorKeySealed:
        await rotate_auditor_key(tx, frame, seal)


async def rotate_auditor_key(
    tx: Tx, frame: str, seal: Seal, brought: Ed25519PrivateKey | None = None
) -> AuditorKey:
    """Sign with a new key from the next record on: the one brought, or one made here. Peers are notified. Raises: KeyUnusable."""
    chain = await store.lock_chain(tx, frame)
    if brought is not None and await store.was_held(tx, kid_of(brought.public_key().public_bytes_raw())):
        raise KeyUnusable
    # Locked after the chain: a checkpoint that is under way is signed by the former key, and is not larger than this.
    await store.retire_current_key(tx, chain.head_id, await lock_log(tx))
    await federation.notify_peers(tx)
    return await _begin_key(tx, seal, brought)


async def rotate_as_administrator(
    tx: Tx, administrator: Developer, frame: str, seal: Seal, *, reason: str | None
) -> AuditorKey:
    """Rotate the key with `rotate_auditor_key` and record it in the audit log."""
    key = await rotate_auditor_key(tx, frame, seal)
    await record_admin_act(tx, administrator, act="attestation_key.rotate", subject=key.kid, reason=reason)
    return key


async def current_key(tx: Tx, seal: Seal) -> SigningKey:
    """The key to sign with now. Raises: AuditorKeySealed."""
    found = await store.sealed_current_key(tx)
    if found is None:
        raise AuditorKeySealed
    kid, sealed = found
    return SigningKey(kid, _opened(sealed, seal))


async def checkpoint_keys(tx: Tx, seal: Seal) -> list[Ed25519PrivateKey]:
    """The keys that sign checkpoints: the current one, and those retired in the last 7 days.

    Raises: AuditorKeySealed.
    """
    current = await current_key(tx, seal)
    retired = [_opened(sealed, seal) for sealed in await store.sealed_retired_keys(tx, GRACE_DAYS)]
    return [current.private, *retired]


async def forget_retired_keys(tx: Tx) -> None:
    """Delete the private halves that sign nothing any more."""
    await store.forget_retired_keys(tx, GRACE_DAYS)


async def _begin_key(tx: Tx, seal: Seal, brought: Ed25519PrivateKey | None = None) -> AuditorKey:
    private = brought or Ed25519PrivateKey.generate()
    public_key = private.public_key().public_bytes_raw()
    key = await store.add_key(tx, kid_of(public_key), public_key, close_key(seal, private, SEALED_FOR))
    await record_leaf(tx, "auditor_key", key.kid, sha256(public_key).digest())
    return key


def _opened(sealed: bytes, seal: Seal) -> Ed25519PrivateKey:
    try:
        return open_key(seal, sealed, SEALED_FOR)
    except BadSeal:
        raise AuditorKeySealed from None
