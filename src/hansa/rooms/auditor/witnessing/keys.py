"""The keys with which this registry cosigns: begun with the registry, rotated, and for 7 days both sign.

- One key of each kind is current: an Ed25519 key, and an ML-DSA-44 key for readers who ask for it (C2SP tlog-cosignature).
  Both begin and are retired together. The ML-DSA-44 key is never one of a module.
- A cosignature is made by it and by those retired in the last 7 days, so that a log which knows the
  former key alone still finds its cosignature.
- A key that was stolen is retired without these 7 days: its private half is deleted in the same transaction.
"""

from collections.abc import Sequence
from hashlib import sha256
from typing import TypeAlias

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.mldsa import MLDSA44PrivateKey

from hansa.foundation.plumbing.keys.seal import BadSeal, Seal, SealedColumn
from hansa.foundation.plumbing.keys.sealed_keys import KeyUnusable, close_key, open_key
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.log_outbox import record_leaf
from hansa_verify import ML_DSA_WITNESS_KEY, WITNESS_KEY, VerifierKey

from . import store
from .errors import WitnessKeySealed

CosigningKey: TypeAlias = Ed25519PrivateKey | MLDSA44PrivateKey

GRACE_DAYS = 7
LEAF = "witness_key"
ED25519_BYTES = 32
_SEALED_FOR = {WITNESS_KEY: "witness key", ML_DSA_WITNESS_KEY: "ML-DSA-44 witness key"}


def _kind_of(public_key: bytes) -> bytes:
    return WITNESS_KEY if len(public_key) == ED25519_BYTES else ML_DSA_WITNESS_KEY


SEALED_WITNESS_KEYS = SealedColumn(
    "auditor_witness_key", "public_key", "sealed_key", lambda public_key: _SEALED_FOR[_kind_of(public_key)]
)


class WitnessKeys(msgspec.Struct, frozen=True):
    """The current keys of a witness in the form that logs receive."""

    ed25519: VerifierKey
    ml_dsa_44: VerifierKey


def witness_name(frame: str) -> str:
    """The name of the witness of a frame."""
    return f"{frame}/witness"


def verifier_key(frame: str, public_key: bytes) -> VerifierKey:
    """The public key in the form that logs receive."""
    return VerifierKey(witness_name(frame), public_key, _kind_of(public_key))


async def initialize_witness(tx: Tx, seal: Seal) -> None:
    """Begin the keys of the witness that there are not yet."""
    await store.lock_keys(tx)
    held = {_kind_of(public_key) for public_key in await store.public_keys(tx)}
    if WITNESS_KEY not in held:
        await _begin_key(tx, seal, Ed25519PrivateKey.generate())
    if ML_DSA_WITNESS_KEY not in held:
        await _begin_key(tx, seal, MLDSA44PrivateKey.generate())


async def replace_sealed_witness_key(tx: Tx, seal: Seal) -> None:
    """Begin other keys where the present ones were sealed under a sealing key that is lost."""
    await store.lock_keys(tx)
    try:
        opened_keys(seal, await store.sealed_keys(tx, GRACE_DAYS))
    except WitnessKeySealed:
        await store.retire_keys(tx)
        await store.forget_retired_keys(tx, 0)
        await initialize_witness(tx, seal)


async def rotate_witness_key(
    tx: Tx, frame: str, seal: Seal, brought: Ed25519PrivateKey | None = None, *, stolen: bool
) -> WitnessKeys:
    """Cosign with new keys from now on; stolen ones sign nothing any more. Raises: KeyUnusable."""
    await store.lock_keys(tx)
    if brought is not None and await store.was_held(tx, brought.public_key().public_bytes_raw()):
        raise KeyUnusable
    await store.retire_keys(tx)
    if stolen:
        await store.forget_retired_keys(tx, 0)
    if brought is not None:
        await _begin_key(tx, seal, brought)
    await initialize_witness(tx, seal)
    return current_keys(frame, await store.public_keys(tx))


def opened_keys(seal: Seal, found: Sequence[tuple[bytes, bytes]]) -> list[CosigningKey]:
    """The keys that cosign, of which `found` has public half and sealed private half. Raises: WitnessKeySealed."""
    if not found:
        raise WitnessKeySealed
    try:
        return [_opened(seal, public_key, sealed) for public_key, sealed in found]
    except BadSeal:
        raise WitnessKeySealed from None


def current_keys(frame: str, public_keys: Sequence[bytes]) -> WitnessKeys:
    """The current keys by their public halves. Raises: WitnessKeySealed where one of a kind is lacking."""
    found = [verifier_key(frame, public_key) for public_key in public_keys]
    keys = {key.kind: key for key in found}
    if keys.keys() != _SEALED_FOR.keys():
        raise WitnessKeySealed
    return WitnessKeys(keys[WITNESS_KEY], keys[ML_DSA_WITNESS_KEY])


async def forget_retired_witness_keys(tx: Tx) -> None:
    """Delete the private halves that cosign nothing any more."""
    await store.forget_retired_keys(tx, GRACE_DAYS)


async def _begin_key(tx: Tx, seal: Seal, private: CosigningKey) -> None:
    public_key = private.public_key().public_bytes_raw()
    purpose = _SEALED_FOR[_kind_of(public_key)]
    if isinstance(private, MLDSA44PrivateKey):
        sealed = seal.close(private.private_bytes_raw(), purpose)
    else:
        sealed = close_key(seal, private, purpose)
    await store.add_key(tx, public_key, sealed)
    await record_leaf(tx, LEAF, sha256(public_key).hexdigest(), sha256(public_key).digest())


def _opened(seal: Seal, public_key: bytes, sealed: bytes) -> CosigningKey:
    kind = _kind_of(public_key)
    if kind == ML_DSA_WITNESS_KEY:
        return MLDSA44PrivateKey.from_seed_bytes(seal.open(sealed, _SEALED_FOR[kind]))
    return open_key(seal, sealed, _SEALED_FOR[kind])
