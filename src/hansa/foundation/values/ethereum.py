"""Addresses, messages and signatures of Ethereum wallets: keccak-256, EIP-191 and ECDSA over secp256k1.

- A signature is 65 bytes r, s, v; s is not above half of the group's order, so that a signature has no second valid form.
- A public key is recovered from a signature once, when a wallet is bound; that takes ten times as long as verifying with it.
"""

import re
from typing import TypeAlias

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import Prehashed, encode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256

ADDRESS_BYTES = 20
SIGNATURE_BYTES = 65
WORD_BYTES = 32

_FIELD = 2**256 - 2**32 - 977
_ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
_GENERATOR = (
    0x79BE667EF9DCBBAC55A06295CE870B07029BFCDB2DCE28D959F2815B16F81798,
    0x483ADA7726A3C4655DA4FBFC0E1108A8FD17B448A68554199C47D08FFB10D4B8,
)
_CURVE_B = 7
_PARITIES = {27: 0, 28: 1}

_HEX = re.compile(r"0x([0-9a-fA-F]*)", re.ASCII)

_Point: TypeAlias = tuple[int, int]
_Jacobian: TypeAlias = tuple[int, int, int]
_INFINITY: _Jacobian = (1, 1, 0)


class NotASignature(ValueError):
    """The bytes are no signature of a wallet, or not in its one accepted form."""


def bytes_of_hex(text: object, size: int) -> bytes | None:
    """The bytes of `0x` and that many pairs of hexadecimal digits; None for anything else."""
    found = _HEX.fullmatch(text) if isinstance(text, str) and len(text) == 2 + 2 * size else None
    return bytes.fromhex(found.group(1)) if found else None


def keccak256(message: bytes) -> bytes:
    """Keccak-256 as Ethereum uses it, which is not SHA3-256."""
    # It loads a parser of C declarations, and most processes check no wallet.
    from Crypto.Hash import keccak

    return keccak.new(digest_bits=256, data=message).digest()


def checksum_address(address: bytes) -> str:
    """An address with the checksum of EIP-55 in the case of its letters."""
    digits = address.hex()
    check = keccak256(digits.encode()).hex()
    return "0x" + "".join(
        digit.upper() if nibble in "89abcdef" else digit for digit, nibble in zip(digits, check, strict=False)
    )


def address_of(public_key: bytes) -> bytes:
    """The address of a public key of 64 bytes."""
    return keccak256(public_key)[-ADDRESS_BYTES:]


def personal_digest(text: str) -> bytes:
    """Digest that a wallet signs for a text (EIP-191, version 0x45)."""
    message = text.encode()
    return keccak256(b"\x19Ethereum Signed Message:\n" + str(len(message)).encode() + message)


def verify(public_key: bytes, digest: bytes, signature: bytes) -> bool:
    """Return whether the signature is by this key, in its one accepted form."""
    try:
        r, s, _ = _parts(signature)
        key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256K1(), b"\x04" + public_key)
        key.verify(encode_dss_signature(r, s), digest, ec.ECDSA(Prehashed(SHA256())))
    except (NotASignature, InvalidSignature):
        return False
    return True


def recover(digest: bytes, signature: bytes) -> bytes:
    """The public key, 64 bytes, of which this is the signature. Raises: NotASignature."""
    r, s, parity = _parts(signature)
    curve = (pow(r, 3, _FIELD) + _CURVE_B) % _FIELD
    y = pow(curve, (_FIELD + 1) // 4, _FIELD)
    if y * y % _FIELD != curve:
        raise NotASignature("r is not on the curve")
    point = (r, y if y % 2 == parity else _FIELD - y)
    inverse = pow(r, -1, _ORDER)
    key = _sum_of_multiples(
        (_GENERATOR, -int.from_bytes(digest) * inverse % _ORDER), (point, s * inverse % _ORDER)
    )
    if key is None:
        raise NotASignature("the signature has no key")
    public_key = key[0].to_bytes(WORD_BYTES) + key[1].to_bytes(WORD_BYTES)
    if not verify(public_key, digest, signature):
        raise NotASignature("the signature does not verify with the key recovered from it")
    return public_key


def _parts(signature: bytes) -> tuple[int, int, int]:
    """r, s and the parity of a signature. Raises: NotASignature."""
    if len(signature) != SIGNATURE_BYTES or signature[-1] not in _PARITIES:
        raise NotASignature("a signature has 65 bytes, the last of which is 27 or 28")
    r, s = int.from_bytes(signature[:WORD_BYTES]), int.from_bytes(signature[WORD_BYTES:-1])
    if not 0 < r < _ORDER or not 0 < s <= _ORDER // 2:
        raise NotASignature("r or s is out of range; s is at most half of the order")
    return r, s, _PARITIES[signature[-1]]


def _sum_of_multiples(one: tuple[_Point, int], other: tuple[_Point, int]) -> _Point | None:
    """The sum of two points, each so many times; None is the point at infinity."""
    (first, first_factor), (second, second_factor) = one, other
    summands = {(1, 0): (*first, 1), (0, 1): (*second, 1)}
    summands[1, 1] = _added(summands[1, 0], summands[0, 1])
    total = _INFINITY
    for place in range(max(first_factor.bit_length(), second_factor.bit_length()) - 1, -1, -1):
        total = _doubled(total)
        bits = first_factor >> place & 1, second_factor >> place & 1
        if bits in summands:
            total = _added(total, summands[bits])
    x, y, z = total
    if z == 0:
        return None
    inverse = pow(z, -1, _FIELD)
    return x * inverse**2 % _FIELD, y * inverse**3 % _FIELD


# Jacobian coordinates (x / z^2, y / z^3): no division until the end; z is 0 at infinity.
def _doubled(point: _Jacobian) -> _Jacobian:
    x, y, z = point
    y_squared = y * y % _FIELD
    s = 4 * x * y_squared % _FIELD
    m = 3 * x * x % _FIELD
    x_doubled = (m * m - 2 * s) % _FIELD
    return x_doubled, (m * (s - x_doubled) - 8 * y_squared * y_squared) % _FIELD, 2 * y * z % _FIELD


def _added(one: _Jacobian, other: _Jacobian) -> _Jacobian:
    if one[2] == 0 or other[2] == 0:
        return other if one[2] == 0 else one
    z1_squared, z2_squared = one[2] * one[2] % _FIELD, other[2] * other[2] % _FIELD
    u1, u2 = one[0] * z2_squared % _FIELD, other[0] * z1_squared % _FIELD
    s1, s2 = one[1] * z2_squared * other[2] % _FIELD, other[1] * z1_squared * one[2] % _FIELD
    h, r = (u2 - u1) % _FIELD, (s2 - s1) % _FIELD
    if h == 0:
        return _doubled(one) if r == 0 else _INFINITY
    h_squared = h * h % _FIELD
    h_cubed, v = h * h_squared % _FIELD, u1 * h_squared % _FIELD
    x = (r * r - h_cubed - 2 * v) % _FIELD
    return x, (r * (v - x) - s1 * h_cubed) % _FIELD, h * one[2] * other[2] % _FIELD
