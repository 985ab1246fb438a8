"""The registry's private keys: made on first start in DIR/keys, mode 0600, replaceable by files or variables.

A key named `agent-token` is read from the variable HANSA_KEY_AGENT_TOKEN (PEM) when set, else from the file that
HANSA_KEY_AGENT_TOKEN_FILE names, else from DIR/keys/agent-token.pem. Processes that share a database share these keys.
"""

import os
from collections.abc import Callable
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from hansa.foundation.plumbing.settings import SECRET
from hansa.foundation.values.secrets import new_hex

VARIABLE_PREFIX = "HANSA_KEY_"


class BadKey(Exception):
    """A key that cannot be used; the message is one line."""


class Keyring:
    """The keys of one data directory."""

    def __init__(self, data_dir: Path) -> None:
        self._directory = data_dir / "keys"

    def ed25519(self, name: str) -> Ed25519PrivateKey:
        """The signing key of that name, made if there is none.

        Raises: BadKey.
        """
        place, pem = self.document(name, lambda: private_pem(Ed25519PrivateKey.generate()))
        return private_key_in(place, pem)

    def document(self, name: str, make: Callable[[], bytes]) -> tuple[str, bytes]:
        """Return the place of the PEM of that name and its content, which `make` gives if there is none.

        Raises: BadKey when the file can be neither read nor made.
        """
        return self._found_or_made(name, f"{name}.pem", make)

    def secret(self, name: str) -> str:
        """The shared secret of that name, made if there is none; its file may be replaced.

        Raises: BadKey.
        """
        return secret_in(*self._found_or_made(name, name, lambda: new_hex("").encode()))

    def find(self, name: str, file: str) -> tuple[str, bytes] | None:
        """Return the place of the key of that name and its content; None where there is none yet.

        Raises: BadKey when it cannot be read.
        """
        variable = variable_of(name)
        if given := os.environ.get(variable):
            return variable, given.encode()
        named = os.environ.get(f"{variable}_FILE")
        path = Path(named) if named else self._directory / file
        try:
            return str(path), path.read_bytes()
        except FileNotFoundError:
            if named:
                raise BadKey(f"{variable}_FILE={named!r} is refused: there is no such file") from None
            return None
        except OSError as error:
            raise BadKey(f"The key {name} cannot be read: {error}.") from error

    def _found_or_made(self, name: str, file: str, make: Callable[[], bytes]) -> tuple[str, bytes]:
        if found := self.find(name, file):
            return found
        try:
            return str(self._directory / file), self._content(file, make)
        except OSError as error:
            raise _unusable(self._directory, name, error) from error

    def _content(self, file: str, make: Callable[[], bytes]) -> bytes:
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self._directory / file
        if not path.exists():
            write_once(path, make())
        return path.read_bytes()


def variable_of(name: str) -> str:
    """The variable that holds the key of that name; with `_FILE` after it, the one that names its file."""
    return VARIABLE_PREFIX + name.upper().replace("-", "_")


def secret_in(place: str, content: bytes) -> str:
    """The shared secret that was found in that place. Raises: BadKey."""
    text = content.decode("ascii", "replace").strip()
    if not SECRET.fullmatch(text):
        raise BadKey(f"{place} is refused; allowed is 16 to 256 visible ASCII characters")
    return text


def private_key_in(place: str, pem: bytes) -> Ed25519PrivateKey:
    """The signing key that was found in that place. Raises: BadKey."""
    try:
        key = load_pem_private_key(pem, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise BadKey(f"{place} is refused; allowed is an unencrypted Ed25519 private key in PEM")
    return key


def private_pem(key: Ed25519PrivateKey) -> bytes:
    """PKCS#8 in PEM, unencrypted."""
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _unusable(directory: Path, name: str, error: OSError) -> BadKey:
    reason = (error.strerror or str(error)).lower()
    return BadKey(
        f"HANSA_DATA_DIR={str(directory.parent)!r}: the key {name} can be neither read nor made: {reason}"
    )


def write_once(path: Path, content: bytes) -> None:
    """Write a file of mode 0600 unless it is there: of several processes the first wins, and none reads half of it."""
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
