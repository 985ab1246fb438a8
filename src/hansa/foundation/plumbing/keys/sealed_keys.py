"""Signing keys as the database stores them: sealed, and either the 32 bytes of the private half or its address in a module.

A module is a hardware security module, or a key service that speaks PKCS#11 3.0 (mechanism CKM_EDDSA).

- A key in a module is named by an address of RFC 7512, `pkcs11:token=LABEL;object=LABEL`, and never leaves the module.
- HANSA_KEY_MODULE is the library of the module. HANSA_KEY_MODULE_PIN, or the file that HANSA_KEY_MODULE_PIN_FILE names, opens the token.
- A process has one session for each token. A session that has ended is opened again once for each signature.
"""

import os
import re
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, NoReturn, Self
from urllib.parse import unquote

import msgspec
import structlog
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from hansa.foundation.plumbing.keys.key_files import BadKey, private_key_in
from hansa.foundation.plumbing.keys.seal import Seal
from hansa.foundation.plumbing.settings.extras import command_to_install
from hansa.foundation.values.errors import Conflict, Unavailable

SCHEME = "pkcs11:"
MODULE, PIN = "HANSA_KEY_MODULE", "HANSA_KEY_MODULE_PIN"
POINT_BYTES = 32
_ADDRESS = re.compile(r"pkcs11:token=(?P<token>[^;?&]+);object=(?P<object>[^;?&]+)", re.ASCII)
_log = structlog.get_logger()
_lock = Lock()
_sessions: dict[str, "pkcs11.Session"] = {}


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


if TYPE_CHECKING:
    import pkcs11


class KeyModuleUnavailable(Unavailable):
    """The module that holds a signing key of the registry cannot be reached or refuses to sign."""

    code = "SIGNING_KEY_MODULE_UNAVAILABLE"
    sentence = "The module with the signing key cannot be reached; retry shortly."


class KeyAddress(msgspec.Struct, frozen=True):
    """Address of a key: the label of a token and the label of the key in it."""

    text: str
    token: str
    label: str

    @classmethod
    def read(cls, text: str) -> Self:
        """Raises: BadKey."""
        found = _ADDRESS.fullmatch(text)
        if found is None:
            raise BadKey(f"{text!r} is refused; allowed is pkcs11:token=LABEL;object=LABEL")
        return cls(text, unquote(found["token"]), unquote(found["object"]))


class ModuleKey(Ed25519PrivateKey):
    """A private key that its module uses and never gives out."""

    def __init__(self, address: KeyAddress, public_key: bytes) -> None:
        self.address = address
        self._public_key = Ed25519PublicKey.from_public_bytes(public_key)

    @classmethod
    def find(cls, text: str) -> Self:
        """The key at an address. Raises: BadKey, KeyModuleUnavailable."""
        address = KeyAddress.read(text)
        return cls(address, _with_key(address, _public_point))

    def sign(self, data: Any) -> bytes:
        """Raises: KeyModuleUnavailable, also when another key has taken the label."""
        message = bytes(data)
        try:
            signature = _with_key(self.address, lambda session, label: _signature(session, label, message))
            self._public_key.verify(signature, message)
        except (BadKey, InvalidSignature) as failure:
            reason = str(failure) or "another key has its label"
            _log.error("a signing key in a module cannot be used", key=self.address.text, reason=reason)
            raise KeyModuleUnavailable from failure
        return signature

    def public_key(self) -> Ed25519PublicKey:
        return self._public_key

    def private_bytes(self, *_: object, **__: object) -> NoReturn:
        raise BadKey(f"the key {self.address.text} never leaves its module")

    def private_bytes_raw(self) -> NoReturn:
        self.private_bytes()

    def __copy__(self) -> "ModuleKey":
        return self

    def __deepcopy__(self, _: dict[int, Any]) -> "ModuleKey":
        return self


def _with_key(address: KeyAddress, use: Any) -> bytes:
    """Return the value of `use(session, label)`, with a session that is open. Raises: BadKey, KeyModuleUnavailable."""
    library = _library()
    with _lock:
        for is_last in (False, True):
            try:
                if address.token not in _sessions:
                    _sessions[address.token] = _opened(library, address.token)
                found: bytes = use(_sessions[address.token], address.label)
            except library.PKCS11Error as error:
                _sessions.clear()
                if is_last and isinstance(error, library.NoSuchKey):
                    raise BadKey(f"the module has no Ed25519 key at {address.text}") from None
                if is_last:
                    raise KeyModuleUnavailable from error
            else:
                return found
    raise AssertionError


def _library() -> Any:
    """The package that speaks PKCS#11. Raises: BadKey."""
    try:
        import pkcs11
    except ImportError:
        command = command_to_install("pkcs11")
        raise BadKey(f"keys in a module need the package python-pkcs11; run: {command}") from None
    return pkcs11


def _opened(library: Any, token: str) -> "pkcs11.Session":
    """A session in which the user is logged in. Raises: BadKey, PKCS11Error."""
    path = os.environ.get(MODULE)
    if not path:
        raise BadKey(f"{MODULE} is required for keys in a module: the path of its PKCS#11 library")
    try:
        module = library.lib(path)
    except RuntimeError as error:
        raise BadKey(f"{MODULE}={path!r} cannot be loaded: {error}") from None
    # A module that was restarted is initialized anew; sessions of before are gone.
    if not _sessions:
        module.reinitialize()
    return module.get_token(token_label=token).open(user_pin=_pin())  # type: ignore[no-any-return]


def _pin() -> str:
    if given := os.environ.get(PIN):
        return given
    file = os.environ.get(f"{PIN}_FILE")
    try:
        return Path(file or "").read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        raise BadKey(
            f"{PIN} or {PIN}_FILE is required for keys in a module; the file is not readable"
        ) from None


def _public_point(session: Any, label: str) -> bytes:
    """The 32 bytes of the public key; modules give them bare or as an OCTET STRING."""
    from pkcs11 import Attribute, KeyType, NoSuchKey, ObjectClass

    key = session.get_key(object_class=ObjectClass.PUBLIC_KEY, key_type=KeyType.EC_EDWARDS, label=label)
    point = bytes(key[Attribute.EC_POINT])
    if point[:-POINT_BYTES] not in (b"", b"\x04\x20"):
        raise NoSuchKey
    return point[-POINT_BYTES:]


def _signature(session: Any, label: str, data: bytes) -> bytes:
    from pkcs11 import KeyType, Mechanism, ObjectClass

    key = session.get_key(object_class=ObjectClass.PRIVATE_KEY, key_type=KeyType.EC_EDWARDS, label=label)
    return bytes(key.sign(data, mechanism=Mechanism.EDDSA))
