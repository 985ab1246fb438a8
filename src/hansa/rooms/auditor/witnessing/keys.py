"""The keys with which this registry cosigns: begun with the registry, rotated, and for 7 days both sign.

- One key is current. A cosignature is made by it and by those retired in the last 7 days, so that a log which knows the
  former key alone still finds its cosignature.
- A key that was stolen is retired without these 7 days: its private half is deleted in the same transaction.
"""

from hashlib import sha256

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hansa.foundation.plumbing.database import Tx
from hansa.foundation.plumbing.log_outbox import record_leaf
from hansa.foundation.plumbing.seal import BadSeal, Seal
from hansa.foundation.plumbing.sealed_columns import SealedColumn
from hansa.foundation.plumbing.sealed_keys import KeyUnusable, close_key, open_key
from hansa_verify import WITNESS_KEY, VerifierKey

from . import store
from .errors import WitnessKeySealed

SEALED_FOR = "witness key"
SEALED_WITNESS_KEYS = SealedColumn("auditor_witness_key", "public_key", "sealed_key", lambda _: SEALED_FOR)
GRACE_DAYS = 7
LEAF = "witness_key"


def witness_name(frame: str) -> str:
    """The name of the witness of a frame."""
    return f"{frame}/witness"


def verifier_key(frame: str, public_key: bytes) -> VerifierKey:
    """The public key in the form that logs receive."""
    return VerifierKey(witness_name(frame), public_key, WITNESS_KEY)


async def initialize_witness(tx: Tx, seal: Seal) -> None:
    """Begin the key of the witness where there is none."""
    await store.lock_keys(tx)
    if not await store.sealed_keys(tx, GRACE_DAYS):
        await _begin_key(tx, seal)


async def replace_sealed_witness_key(tx: Tx, seal: Seal) -> None:
    """Begin another key where the present one was sealed under a sealing key that is lost."""
    await store.lock_keys(tx)
    try:
        await cosigning_keys(tx, seal)
    except WitnessKeySealed:
        await store.retire_key(tx)
        await store.forget_retired_keys(tx, 0)
        await _begin_key(tx, seal)


async def rotate_witness_key(
    tx: Tx, frame: str, seal: Seal, brought: Ed25519PrivateKey | None = None, *, stolen: bool
) -> VerifierKey:
    """Cosign with a new key from now on; a stolen one signs nothing any more. Raises: KeyUnusable."""
    await store.lock_keys(tx)
    if brought is not None and await store.was_held(tx, brought.public_key().public_bytes_raw()):
        raise KeyUnusable
    await store.retire_key(tx)
    if stolen:
        await store.forget_retired_keys(tx, 0)
    return verifier_key(frame, await _begin_key(tx, seal, brought))


async def cosigning_keys(tx: Tx, seal: Seal) -> list[Ed25519PrivateKey]:
    """The keys that cosign, the current one first. Raises: WitnessKeySealed."""
    found = await store.sealed_keys(tx, GRACE_DAYS)
    if not found:
        raise WitnessKeySealed
    try:
        return [open_key(seal, sealed, SEALED_FOR) for sealed in found]
    except BadSeal:
        raise WitnessKeySealed from None


async def forget_retired_witness_keys(tx: Tx) -> None:
    """Delete the private halves that cosign nothing any more."""
    await store.forget_retired_keys(tx, GRACE_DAYS)


async def _begin_key(tx: Tx, seal: Seal, brought: Ed25519PrivateKey | None = None) -> bytes:
    private = brought or Ed25519PrivateKey.generate()
    public_key = private.public_key().public_bytes_raw()
    await store.add_key(tx, public_key, close_key(seal, private, SEALED_FOR))
    await record_leaf(tx, LEAF, sha256(public_key).hexdigest(), sha256(public_key).digest())
    return public_key
