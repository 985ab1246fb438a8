"""Secrets of the command line: in the keyring of the system, or where there is none in a file of mode 0600."""

from contextlib import suppress
from typing import Any

import msgspec

from .profiles import NothingStored, directory, write_privately

SERVICE = "hansa-client"
USABLE_PRIORITY = 1


def store_secret(profile: str, name: str, secret: str) -> None:
    """Store a secret under its name in a profile."""
    keyring = _keyring()
    if keyring is not None:
        with suppress(_keyring_error()):
            keyring.set_password(SERVICE, f"{profile}/{name}", secret)
            _change_file(f"{profile}/{name}", None)
            return
    _change_file(f"{profile}/{name}", secret)


def read_secret(profile: str, name: str) -> str | None:
    """The secret under a name, or None."""
    keyring = _keyring()
    if keyring is not None:
        with suppress(_keyring_error()):
            found: str | None = keyring.get_password(SERVICE, f"{profile}/{name}")
            if found is not None:
                return found
    return _read_file().get(f"{profile}/{name}")


def delete_secret(profile: str, name: str) -> None:
    """Forget a secret."""
    keyring = _keyring()
    if keyring is not None:
        with suppress(_keyring_error()):
            keyring.delete_password(SERVICE, f"{profile}/{name}")
    _change_file(f"{profile}/{name}", None)


def _keyring() -> Any:
    """The keyring of the system, or None where there is no usable one."""
    import keyring

    backend = keyring.get_keyring()
    return backend if backend.priority >= USABLE_PRIORITY else None


def _keyring_error() -> type[Exception]:
    from keyring.errors import KeyringError

    return KeyringError


def _read_file() -> dict[str, str]:
    file = directory() / "credentials.json"
    try:
        return msgspec.json.decode(file.read_bytes(), type=dict[str, str])
    except FileNotFoundError:
        return {}
    except msgspec.DecodeError as error:
        raise NothingStored(f"{file} is not a file of credentials: {error}") from None


def _change_file(name: str, secret: str | None) -> None:
    secrets = _read_file()
    if secret is None and name not in secrets:
        return
    if secret is None:
        del secrets[name]
    else:
        secrets[name] = secret
    write_privately(directory() / "credentials.json", msgspec.json.encode(secrets))
