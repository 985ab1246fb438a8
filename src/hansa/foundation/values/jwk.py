"""Ed25519 public keys as JSON Web Keys (RFC 8037), and which of them are refused.

- `x` is base64url in its one canonical spelling: no padding, no stray characters, no alias of the last one.
- The point is on the curve, its encoding is canonical, and its order is not small: a key of small order accepts
  signatures that nobody made.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from hansa.foundation.values.canonical import canonical_json

KEY_BYTES = 32

_P = 2**255 - 19
_D = -121665 * pow(121666, -1, _P) % _P
_SIGN_BIT = 1 << 255

# The y of the eight points whose order divides 8; the sign of x does not matter, so each stands for a pair.
_Y_OF_ORDER_8 = 0x7A03AC9277FDC74EC6CC392CFA53202A0F67100D760B3CBA4FD84D3D706A17C7
_SMALL_ORDER_Y = frozenset({0, 1, _P - 1, _Y_OF_ORDER_8, _P - _Y_OF_ORDER_8})


class NotAKey(ValueError):
    """The text is not an acceptable Ed25519 public key."""


def public_key_of(jwk: Mapping[str, Any]) -> bytes:
    """The 32 bytes of a public JWK; `kid`, `use` and `alg` are not looked at.

    Raises: NotAKey, also when the key carries its private part.
    """
    if "d" in jwk:
        raise NotAKey("the key carries its private part; send the public part only")
    if jwk.get("kty") != "OKP" or jwk.get("crv") != "Ed25519":
        raise NotAKey("an Ed25519 key has kty OKP and crv Ed25519")
    key = _canonical_bytes(jwk.get("x"))
    _require_sound_point(key)
    return key


def jwk_of(key: bytes) -> dict[str, str]:
    """The public JWK of a key."""
    return {"kty": "OKP", "crv": "Ed25519", "x": _base64url(key)}


def thumbprint(key: bytes) -> str:
    """The JWK thumbprint of RFC 7638, SHA-256, in base64url."""
    return _base64url(sha256(canonical_json(jwk_of(key))).digest())


def _canonical_bytes(text: object) -> bytes:
    if not isinstance(text, str) or not text.isascii():
        raise NotAKey("x is a base64url text")
    try:
        key = urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except ValueError:
        raise NotAKey("x is not base64url") from None
    # The decoder drops characters it does not know, so only encoding it again proves the spelling.
    if len(key) != KEY_BYTES or _base64url(key) != text:
        raise NotAKey("x is not 32 bytes in canonical base64url without padding")
    return key


def _require_sound_point(key: bytes) -> None:
    y = int.from_bytes(key, "little") & ~_SIGN_BIT
    if y >= _P:
        raise NotAKey("the point is not canonically encoded")
    if y in _SMALL_ORDER_Y:
        raise NotAKey("the point is of small order")
    x_squared = (y * y - 1) * pow(_D * y * y + 1, -1, _P) % _P
    if pow(x_squared, (_P - 1) // 2, _P) != 1:
        raise NotAKey("the point is not on the curve")


def _base64url(raw: bytes) -> str:
    return urlsafe_b64encode(raw).rstrip(b"=").decode()
