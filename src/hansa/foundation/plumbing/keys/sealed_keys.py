"""Signing keys as the database keeps them: sealed, and either the 32 bytes of the private half or its address in a module."""

from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hansa.foundation.plumbing.keys.key_files import BadKey, private_key_in
from hansa.foundation.plumbing.keys.key_modules import SCHEME, KeyAddress, ModuleKey
from hansa.foundation.plumbing.keys.seal import Seal
from hansa.foundation.values.errors import Conflict


class KeyUnusable(Conflict):
    """The supplied key already signed for this registry, or is not a valid signing key."""

    code = "SIGNING_KEY_UNUSABLE"
    sentence = "This key cannot be used: it signed for the registry before. Supply a new key."


# Longer than a private half, so that no address is taken for one.
_IN_A_MODULE = b"hansa: Ed25519 key in the module "


def close_key(seal: Seal, key: Ed25519PrivateKey, purpose: str) -> bytes:
    """The sealed key, which opens for the same purpose only."""
    if isinstance(key, ModuleKey):
        declared = f"{key.public_key().public_bytes_raw().hex()} {key.address.text}"
        return seal.close(_IN_A_MODULE + declared.encode(), purpose)
    return seal.close(key.private_bytes_raw(), purpose)


def open_key(seal: Seal, sealed: bytes, purpose: str) -> Ed25519PrivateKey:
    """The key that was sealed for this purpose; a module is used by its signatures alone. Raises: BadSeal."""
    content = seal.open(sealed, purpose)
    if not content.startswith(_IN_A_MODULE):
        return Ed25519PrivateKey.from_private_bytes(content)
    public_key, _, address = content.removeprefix(_IN_A_MODULE).decode().partition(" ")
    return ModuleKey(KeyAddress.read(address), bytes.fromhex(public_key))


def key_at(place: str) -> Ed25519PrivateKey:
    """The key that an operator names: a file in PEM, or an address in a module, which signs once.

    Raises: BadKey, KeyModuleUnavailable.
    """
    if place.startswith(SCHEME):
        key = ModuleKey.find(place)
        key.sign(b"")
        return key
    try:
        return private_key_in(place, Path(place).read_bytes())
    except OSError as error:
        raise BadKey(f"{place} cannot be read: {error.strerror}") from None
