"""The registry's private keys: made on first start in DIR/keys, mode 0600, replaceable by files or variables.

A key named `agent-token` is read from the variable HANSA_KEY_AGENT_TOKEN (PEM) when set, else from
DIR/keys/agent-token.pem. Registries that share a database across machines share these files.
"""

import os
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)


class Keyring:
    """The keys of one data directory."""

    def __init__(self, data_dir: Path) -> None:
        self._directory = data_dir / "keys"

    def ed25519(self, name: str) -> Ed25519PrivateKey:
        """The signing key of that name, made if there is none.

        Raises: ValueError when what is found is not an Ed25519 private key.
        """
        key = load_pem_private_key(self._pem(name), password=None)
        if not isinstance(key, Ed25519PrivateKey):
            raise ValueError(f"the key {name} is not an Ed25519 private key")  # noqa: TRY004
        return key

    def _pem(self, name: str) -> bytes:
        variable = os.environ.get("HANSA_KEY_" + name.upper().replace("-", "_"))
        if variable:
            return variable.encode()
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self._directory / f"{name}.pem"
        if not path.exists():
            _write_once(path, private_pem(Ed25519PrivateKey.generate()))
        return path.read_bytes()


def private_pem(key: Ed25519PrivateKey) -> bytes:
    """PKCS#8 in PEM, unencrypted."""
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _write_once(path: Path, content: bytes) -> None:
    """Several processes may start at once: the first whole file wins, and nobody reads half of one."""
    draft = path.with_suffix(f".{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        draft.unlink()
