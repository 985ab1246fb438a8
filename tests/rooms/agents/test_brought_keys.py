"""Public keys from outside: the keys that a hostile developer might bring."""

from base64 import urlsafe_b64encode

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hansa.foundation.values.jwk import NotAKey, jwk_of, public_key_of, thumbprint

P = 2**255 - 19
D = -121665 * pow(121666, -1, P) % P
SIGN = 1 << 255
ROOT_OF_MINUS_ONE = pow(2, (P - 1) // 4, P)


def x_of(y):
    squared = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(squared, (P + 3) // 8, P)
    x = x if x * x % P == squared else x * ROOT_OF_MINUS_ONE % P
    return x if x * x % P == squared else None


def doubled(point):
    x, y = point
    k = D * x * x * y * y % P
    return 2 * x * y * pow(1 + k, -1, P) % P, (y * y + x * x) * pow(1 - k, -1, P) % P


def has_small_order(y):
    point = (x_of(y), y)
    for _ in range(3):
        point = doubled(point)
    return point == (0, 1)


def square_root(number):
    root = pow(number, (P + 3) // 8, P)
    root = root if root * root % P == number % P else root * ROOT_OF_MINUS_ONE % P
    return root if root * root % P == number % P else None


def torsion_ys():
    """The y of all points whose order divides 8, found from the curve equation: doubling must give (±i, 0) for 8."""
    found = {0, 1, P - 1}
    root = square_root(1 + D)
    for sign in (1, -1):
        y = square_root((-1 + sign * root) * pow(D, -1, P) % P)
        if y is not None and x_of(y) is not None:
            found |= {y, P - y}
    return found


def encodings(y):
    """Every 32 bytes that decoders reduce to this y, with either sign."""
    spellings = [spelling for spelling in (y, y + P) if spelling < SIGN]
    return [(spelling | sign).to_bytes(32, "little") for spelling in spellings for sign in (0, SIGN)]


TORSION = [key for y in sorted(torsion_ys()) for key in encodings(y)]
NOT_REDUCED = [(y | sign).to_bytes(32, "little") for y in range(P, SIGN) for sign in (0, SIGN)]


def test_the_eight_torsion_points_are_all_there():
    assert len(torsion_ys()) == 5
    assert all(has_small_order(y) for y in torsion_ys())
    assert len(TORSION) == 14


@pytest.mark.parametrize("key", TORSION, ids=[key.hex()[:8] + key.hex()[-4:] for key in TORSION])
def test_a_point_of_small_order_is_refused_in_every_encoding(key):
    with pytest.raises(NotAKey):
        public_key_of(jwk_of(key))


def test_a_y_that_is_not_reduced_is_refused():
    assert len(NOT_REDUCED) == 38
    for key in NOT_REDUCED:
        with pytest.raises(NotAKey, match="canonically"):
            public_key_of(jwk_of(key))


def test_a_y_off_the_curve_is_refused():
    off_curve = [y for y in range(2, 40) if x_of(y) is None]
    assert len(off_curve) > 10
    for y in off_curve:
        with pytest.raises(NotAKey, match="curve"):
            public_key_of(jwk_of(y.to_bytes(32, "little")))


def test_honest_keys_are_taken():
    for _ in range(50):
        key = Ed25519PrivateKey.generate().public_key().public_bytes_raw()
        assert public_key_of(jwk_of(key)) == key


def test_only_one_spelling_of_a_key_is_taken():
    key = Ed25519PrivateKey.generate().public_key().public_bytes_raw()
    x = jwk_of(key)["x"]
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    last = alphabet.index(x[-1])
    aliases = [x[:-1] + alphabet[last + step] for step in (1, 2, 3)]
    padded = urlsafe_b64encode(key).decode()
    others = [padded, x + " ", x + "\n", "=" + x, x[:20] + "!" + x[20:], x[:-1], x + "A", "", "é" * 43]
    for spelling in [*aliases, *others, None, 7, [x]]:
        with pytest.raises(NotAKey):
            public_key_of({"kty": "OKP", "crv": "Ed25519", "x": spelling})


@pytest.mark.parametrize(
    "change", [{"kty": "EC"}, {"crv": "X25519"}, {"crv": "Ed448"}, {"d": "AAAA"}, {"d": None}]
)
def test_a_key_of_another_kind_or_with_its_private_part_is_refused(change):
    key = Ed25519PrivateKey.generate().public_key().public_bytes_raw()
    with pytest.raises(NotAKey):
        public_key_of({**jwk_of(key), **change})


def test_the_thumbprint_is_that_of_rfc_8037():
    key = bytes.fromhex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")
    assert thumbprint(key) == "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"
