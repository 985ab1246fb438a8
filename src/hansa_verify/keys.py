"""Ed25519 public keys of a JSON Web Key Set (RFC 8037), and which of them are refused.

- `x` is base64url in its one canonical spelling.
- The point is on the curve, canonically encoded and not of small order: a key of small order accepts signatures that
  nobody made.
"""

from collections.abc import Mapping
from typing import Any

from .base64url import NotBase64url, decoded

KEY_BYTES = 32

_PRIME = 2**255 - 19
_CURVE_D = -121665 * pow(121666, -1, _PRIME) % _PRIME

Point = tuple[int, int]


class NotAKey(ValueError):
    """The member is not an acceptable Ed25519 public key; the message is one line."""


def public_key_of(jwk: Mapping[str, Any]) -> bytes:
    """The 32 bytes of a public JWK. Raises: NotAKey."""
    if jwk.get("kty") != "OKP" or jwk.get("crv") != "Ed25519" or "d" in jwk:
        raise NotAKey("an Ed25519 key is public and has kty OKP and crv Ed25519")
    try:
        key = decoded(jwk.get("x"))
    except NotBase64url as trouble:
        raise NotAKey(f"x: {trouble}") from None
    if len(key) != KEY_BYTES:
        raise NotAKey(f"x has {len(key)} bytes, not {KEY_BYTES}")
    require_usable(key)
    return key


def require_usable(key: bytes) -> None:
    """Raises: NotAKey when the point is not on the curve, not canonically encoded, or of small order."""
    _require_of_full_order(_point(key))


def _point(key: bytes) -> Point:
    encoded = int.from_bytes(key, "little")
    y, sign = encoded & ((1 << 255) - 1), encoded >> 255
    if y >= _PRIME:
        raise NotAKey("the point is not canonically encoded")
    x = _root((y * y - 1) * pow(_CURVE_D * y * y + 1, -1, _PRIME) % _PRIME)
    if x == 0 and sign:
        raise NotAKey("the point is not canonically encoded")
    return (_PRIME - x if x & 1 != sign else x, y)


def _root(square: int) -> int:
    """A square root modulo the prime. Raises: NotAKey."""
    root = pow(square, (_PRIME + 3) // 8, _PRIME)
    if root * root % _PRIME != square:
        root = root * pow(2, (_PRIME - 1) // 4, _PRIME) % _PRIME
    if root * root % _PRIME != square:
        raise NotAKey("the point is not on the curve")
    return root


def _require_of_full_order(point: Point) -> None:
    """Eight times the point is the neutral one exactly when its order divides eight."""
    for _ in range(3):
        point = _doubled(point)
    if point == (0, 1):
        raise NotAKey("the point is of small order")


def _doubled(point: Point) -> Point:
    x, y = point
    product = _CURVE_D * x * x * y * y % _PRIME
    new_x = 2 * x * y * pow(1 + product, -1, _PRIME)
    new_y = (y * y + x * x) * pow(1 - product, -1, _PRIME)
    return new_x % _PRIME, new_y % _PRIME
