"""All keys of a registry in one file, encrypted with a passphrase, to bring them to another machine or keep them safe.

- scrypt derives the key from the passphrase and a salt; AES-256-GCM encrypts and authenticates.
- `bound_to` is authenticated with the keys: the other content of a backup cannot be altered unnoticed.
"""

import json
import os
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt
from pydantic import ConfigDict, Field, ValidationError

from hansa.foundation.plumbing.keys.key_files import BadKey, Keyring, write_once
from hansa.foundation.plumbing.keys.registry_identity import KEY_FILES
from hansa.foundation.values.lazy_model import LazyModel

FORMAT = "hansa-keys-1"
PASSPHRASE_MIN_CHARACTERS = 12
BUNDLE_MAX_BYTES = 1 << 20
# 128 MiB of memory for each guess.
SCRYPT_COST, SCRYPT_BLOCKS, SCRYPT_LANES = 1 << 17, 8, 1
SALT_BYTES, NONCE_BYTES = 16, 12
# Not part of the identity of a registry, but shared by all its processes.
FILES = {**KEY_FILES, "internal-api-key": "internal-api-key"}
LEDGER_ID = "ledger-id"
"""Entry beside the keys that states the ledger of their registry; exports of earlier versions have none."""


class _Bundle(LazyModel):
    """Content of a key file."""

    model_config = ConfigDict(val_json_bytes="base64")

    format: Literal["hansa-keys-1"]
    salt: bytes = Field(min_length=SALT_BYTES, max_length=SALT_BYTES)
    nonce: bytes = Field(min_length=NONCE_BYTES, max_length=NONCE_BYTES)
    sealed: bytes


def seal_keys(keys: Mapping[str, bytes], passphrase: str, *, bound_to: bytes = b"") -> bytes:
    """The content of a key file. Raises: BadKey when the passphrase is too short."""
    if len(passphrase) < PASSPHRASE_MIN_CHARACTERS:
        raise BadKey(f"passphrase: at least {PASSPHRASE_MIN_CHARACTERS} characters")
    salt, nonce = os.urandom(SALT_BYTES), os.urandom(NONCE_BYTES)
    content = json.dumps({name: key.decode() for name, key in keys.items()}).encode()
    sealed = AESGCM(_derived(passphrase, salt)).encrypt(nonce, content, FORMAT.encode() + bound_to)
    members = {"salt": salt, "nonce": nonce, "sealed": sealed}
    shown = {name: urlsafe_b64encode(member).decode() for name, member in members.items()}
    return json.dumps({"format": FORMAT, **shown}, indent=2).encode() + b"\n"


def open_keys(content: bytes, passphrase: str, *, bound_to: bytes = b"") -> dict[str, bytes]:
    """The keys by name. Raises: BadKey when the file is not whole, was altered, or the passphrase is wrong."""
    try:
        bundle = _Bundle.model_validate_json(content)
    except ValidationError:
        raise BadKey("the file holds no keys that `hansa keys export` or `hansa db backup` wrote") from None
    try:
        cipher = AESGCM(_derived(passphrase, bundle.salt))
        opened = cipher.decrypt(bundle.nonce, bundle.sealed, FORMAT.encode() + bound_to)
    except (InvalidTag, ValueError):
        raise BadKey("the keys do not open: the passphrase is wrong, or the file was altered") from None
    return {name: key.encode() for name, key in json.loads(opened).items()}


def keys_of(data_dir: Path) -> dict[str, bytes]:
    """The keys in use, from variables and files. Raises: BadKey when there is none."""
    keyring = Keyring(data_dir)
    found = {name: keyring.find(name, file) for name, file in FILES.items()}
    keys = {name: key[1] for name, key in found.items() if key is not None}
    if not keys:
        raise BadKey(f"no keys in {data_dir / 'keys'}; `hansa serve --data-dir {data_dir}` makes them")
    return keys


def missing_keys(data_dir: Path, keys: Mapping[str, bytes]) -> list[str]:
    """Names of the keys that are not in use yet. Raises: BadKey, when other ones are."""
    keyring = Keyring(data_dir)
    present = {name: keyring.find(name, FILES[name]) for name in keys if name in FILES}
    other = [name for name, found in present.items() if found is not None and found[1] != keys[name]]
    if other:
        raise BadKey(
            f"other keys are in use here ({', '.join(other)}); nothing was imported:"
            f" choose another --data-dir, or move {data_dir / 'keys'} and unset variables HANSA_KEY_…"
        )
    return [name for name, found in present.items() if found is None]


def install_keys(data_dir: Path, keys: Mapping[str, bytes]) -> list[str]:
    """Write the keys into DIR/keys; returns the names of those that were not there. None is ever replaced.

    Raises: BadKey, OSError.
    """
    missing = missing_keys(data_dir, keys)
    directory = data_dir / "keys"
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name in missing:
        write_once(directory / FILES[name], keys[name])
    return missing


def write_private(path: Path, content: bytes) -> None:
    """Write a file that is not there yet, for its owner alone. Raises: FileExistsError, OSError."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        path.unlink()
        raise


def read_bundle(path: Path) -> bytes:
    """The content of a key file. Raises: BadKey, OSError."""
    with path.open("rb") as file:
        content = file.read(BUNDLE_MAX_BYTES + 1)
    if len(content) > BUNDLE_MAX_BYTES:
        raise BadKey(f"{path} is too large for a file of keys")
    return content


def _derived(passphrase: str, salt: bytes) -> bytes:
    kdf = Scrypt(salt=salt, length=32, n=SCRYPT_COST, r=SCRYPT_BLOCKS, p=SCRYPT_LANES)
    return kdf.derive(passphrase.encode())
