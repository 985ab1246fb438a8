"""Signer of this process: the present key of the registry, read anew for each signature."""

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hansa.foundation.plumbing.keys.seal import BadSeal, Seal, SealedColumn
from hansa.foundation.plumbing.keys.sealed_keys import open_key
from hansa.foundation.plumbing.process.runtime import Slot
from hansa.foundation.plumbing.storage.database import Database, Tx

from . import store
from .errors import KeyDoesNotOpen
from .records import SealedKey, SigningKey
from .rules import SEALED_FOR

SEALED_REGISTRY_KEYS = SealedColumn("federation_registry_key", "sequence", "sealed_key", lambda _: SEALED_FOR)


class Signatory:
    """Gives out the present key. Opening it is remembered, whether it is the present one never is."""

    def __init__(self, database: Database, seal: Seal) -> None:
        self._database = database
        self._seal = seal
        self._opened: tuple[bytes, Ed25519PrivateKey] | None = None

    async def present_key(self) -> SigningKey:
        """The key to sign with now. Raises: KeyDoesNotOpen, Unavailable."""
        present = await self._database.query(store.present)
        if present is None:
            raise KeyDoesNotOpen
        known = self._opened
        if known is None or known[0] != present.sealed:
            self._opened = known = (present.sealed, opened(present, self._seal))
        return _signing_key(present, known[1])


SIGNATORY: Slot[Signatory] = Slot(
    "federation: signatory of this registry", build=lambda runtime: Signatory(runtime.database, runtime.seal)
)


async def present_signing_key(tx: Tx, seal: Seal) -> SigningKey:
    """The key to sign with in this transaction. Raises: KeyDoesNotOpen."""
    present = await store.present(tx)
    if present is None:
        raise KeyDoesNotOpen
    return _signing_key(present, opened(present, seal))


def opened(present: SealedKey, seal: Seal) -> Ed25519PrivateKey:
    """The private half. Raises: KeyDoesNotOpen."""
    try:
        return open_key(seal, present.sealed, SEALED_FOR)
    except BadSeal:
        raise KeyDoesNotOpen from None


def _signing_key(present: SealedKey, private: Ed25519PrivateKey) -> SigningKey:
    key = present.key
    return SigningKey(key.kid, key.sequence, key.valid_from, private, present.read_at)
