"""Ed25519 public keys of JSON Web Key Sets (RFC 8037), when they count, and which of them are refused.

- `x` is base64url in its one canonical spelling; no two keys of a set have the same kid.
- The point is on the curve, canonically encoded and not of small order: a key of small order accepts signatures that
  nobody made.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from .canonical import NotBase64url, decoded, read_moment
from .steps import Refusal, Unreadable

try:
    from cryptography.hazmat.primitives.asymmetric import mldsa
except ImportError:
    # An older version of the library: its other keys are all that is needed for everything but some cosignatures.
    mldsa = None  # type: ignore[assignment]

KEY_BYTES = 32
ML_DSA_KEY_BYTES = 1312
KEYS_MAX = 10_000
LOADED_MAX = 256
GRACE = timedelta(days=7)
CLOCK_SKEW = timedelta(seconds=60)

_RETIRED_AT = ("retired_at_id", "retired_at_size")

_PRIME = 2**255 - 19
_CURVE_D = -121665 * pow(121666, -1, _PRIME) % _PRIME
# The y coordinates of the points whose order divides eight: of order 1 and 2, of order 4, of order 8.
_ORDER_8 = 0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826
_SMALL_ORDER = {1, _PRIME - 1, 0, _ORDER_8, _PRIME - _ORDER_8}


class NotAKey(Unreadable):
    """The member is not an acceptable Ed25519 public key; the message is one line."""


@dataclass(frozen=True)
class RegistryKey:
    """A key of a registry. Its times are None where the source does not state them."""

    kid: str
    public_key: bytes
    valid_from: datetime | None = None
    retired_at: datetime | None = None

    def require_in_grace(self, at: datetime) -> None:
        """Raises: Refusal when the key was retired more than seven days before."""
        if self.retired_at is not None and at - self.retired_at > GRACE:
            retired = f"the key was retired at {self.retired_at.isoformat()}, past its grace"
            raise Refusal("key_retired", retired)

    def require_in_force(self, signed_at: datetime) -> None:
        """Raises: Refusal when the key was not valid at the time of the signature."""
        if self.valid_from is not None and self.valid_from - signed_at > CLOCK_SKEW:
            raise Refusal("key_not_yet_valid", f"the key is valid from {self.valid_from.isoformat()} on")
        if self.retired_at is not None and signed_at - self.retired_at > CLOCK_SKEW:
            raise Refusal("key_retired", f"signed after the key was retired at {self.retired_at.isoformat()}")


@dataclass(frozen=True)
class AuditorKey:
    """A key of an auditor; neither records after `retired_at_id` nor checkpoints above `retired_at_size` are valid under it."""

    kid: str
    public_key: bytes
    retired_at_id: int | None = None
    retired_at_size: int | None = None

    def signs_checkpoint_of(self, size: int) -> bool:
        """Return whether it is a key for checkpoints of so many leaves; a retired one without a size is for none."""
        if self.retired_at_size is not None:
            return size <= self.retired_at_size
        return self.retired_at_id is None


def read_keys(document: Any) -> tuple[RegistryKey, ...]:
    """The keys of a key set, or of a registry's history of keys, which adds their times. Raises: NotAKey."""
    return tuple(
        RegistryKey(jwk["kid"], public_key_of(jwk), _moment(jwk, "valid_from"), _moment(jwk, "retired_at"))
        for jwk in _listed(document)
    )


def read_auditor_keys(document: Any) -> tuple[AuditorKey, ...]:
    """The keys of an auditor's key set. Raises: NotAKey."""
    return tuple(
        AuditorKey(jwk["kid"], public_key_of(jwk), *(_count(jwk, name) for name in _RETIRED_AT))
        for jwk in _listed(document)
    )


def public_key_of(jwk: Mapping[str, Any]) -> bytes:
    """The 32 bytes of a public JWK. Raises: NotAKey."""
    if jwk.get("kty") != "OKP" or jwk.get("crv") != "Ed25519" or "d" in jwk:
        raise NotAKey("an Ed25519 key is public and has kty OKP and crv Ed25519")
    try:
        key = decoded(jwk.get("x"))
    except NotBase64url as error:
        raise NotAKey(f"x: {error}") from None
    if len(key) != KEY_BYTES:
        raise NotAKey(f"x has {len(key)} bytes, not {KEY_BYTES}")
    require_usable(key)
    return key


@lru_cache(maxsize=1024)
def require_usable(key: bytes) -> None:
    """Raises: NotAKey when the point is not on the curve, not canonically encoded, or of small order."""
    point = int.from_bytes(key, "little")
    y, sign = point & ((1 << 255) - 1), point >> 255
    x_squared = (y * y - 1) * pow(_CURVE_D * y * y + 1, -1, _PRIME) % _PRIME
    if y >= _PRIME or (x_squared == 0 and sign):
        raise NotAKey("the point is not canonically encoded")
    if pow(x_squared, (_PRIME - 1) // 2, _PRIME) not in {0, 1}:
        raise NotAKey("the point is not on the curve")
    if y in _SMALL_ORDER:
        raise NotAKey("the point is of small order")


def is_signed(public_key: bytes, signature: bytes, message: bytes) -> bool:
    """Return whether the holder of the key signed the message."""
    try:
        _loaded(public_key).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def has_ml_dsa() -> bool:
    """Return whether the installed `cryptography` verifies ML-DSA-44 signatures."""
    try:
        return mldsa is not None and bool(mldsa.MLDSA44PublicKey.from_public_bytes(bytes(ML_DSA_KEY_BYTES)))
    except UnsupportedAlgorithm:
        return False


def is_ml_dsa_signed(public_key: bytes, signature: bytes, message: bytes) -> bool:
    """Return whether the holder of the ML-DSA-44 key signed the message (FIPS 204, no context); False where `has_ml_dsa` is false."""
    if not has_ml_dsa():
        return False
    try:
        mldsa.MLDSA44PublicKey.from_public_bytes(public_key).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


@lru_cache(LOADED_MAX)
def _loaded(public_key: bytes) -> Ed25519PublicKey:
    return Ed25519PublicKey.from_public_bytes(public_key)


def _listed(document: Any) -> Iterator[Mapping[str, Any]]:
    listed = document.get("keys") if isinstance(document, Mapping) else None
    if not isinstance(listed, list) or len(listed) > KEYS_MAX:
        raise NotAKey("a key set is an object whose member keys is a list of bounded length")
    kids: set[str] = set()
    for jwk in listed:
        if not isinstance(jwk, Mapping) or not isinstance(jwk.get("kid"), str):
            raise NotAKey("a key of a set is an object with a kid")
        if jwk.get("use", "sig") != "sig" or jwk.get("alg", "EdDSA") != "EdDSA":
            raise NotAKey("a key of a set is for signing with EdDSA")
        if jwk["kid"] in kids:
            raise NotAKey("two keys of the set have the same kid")
        kids.add(jwk["kid"])
        yield jwk


def _moment(jwk: Mapping[str, Any], name: str) -> datetime | None:
    timestamp = read_moment(jwk.get(name))
    if timestamp is None and jwk.get(name) is not None:
        raise NotAKey(f"{name} must be an ISO 8601 time with its offset from UTC")
    return timestamp


def _count(jwk: Mapping[str, Any], name: str) -> int | None:
    count: int | None = jwk.get(name)
    if count is not None and (type(count) is not int or count < 0):
        raise NotAKey(f"{name} must be a whole number of at least 0")
    return count
