"""Published vectors: Wycheproof for Ed25519, RFC 8032 (7.1), RFC 8037 (appendix A), and the numbers of RFC 8785 (appendix B)."""

import struct
from decimal import Decimal

from hansa_verify import canonical_json, decoded, key_thumbprint, public_key_of, read_json
from hansa_verify.keys import NotAKey, is_signed, require_usable
from tests.verifier.served import VECTORS, vectors_in

WYCHEPROOF = VECTORS / "official" / "wycheproof_ed25519.jsonl"
# Public key, message, signature.
RFC_8032 = (
    (
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
    ),
    (
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
    ),
    (
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
    ),
)
RFC_8785_NUMBERS = {
    "0000000000000001": "5e-324",
    "8000000000000001": "-5e-324",
    "7fefffffffffffff": "1.7976931348623157e+308",
    "ffefffffffffffff": "-1.7976931348623157e+308",
    "44b52d02c7e14af5": "9.999999999999997e+22",
    "44b52d02c7e14af6": "1e+23",
    "44b52d02c7e14af7": "1.0000000000000001e+23",
    "3eb0c6f7a0b5ed8c": "9.999999999999997e-7",
    "3eb0c6f7a0b5ed8d": "0.000001",
    "41b3de4355555553": "333333333.3333332",
    "41b3de4355555554": "333333333.33333325",
    "41b3de4355555555": "333333333.3333333",
    "41b3de4355555556": "333333333.3333334",
    "41b3de4355555557": "333333333.33333343",
    "becbf647612f3696": "-0.0000033333333333333333",
    "43143ff3c1cb0959": "1424953923781206.2",
}
RFC_8037_KEY = {"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}
RFC_8037_JWS = (
    "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc."
    "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg"
)


def test_signatures_of_wycheproof_are_judged_as_published():
    vectors = vectors_in(WYCHEPROOF)
    assert len(vectors) > 140
    for one in vectors:
        key, message, signature = (
            bytes.fromhex(one[name]) for name in ("public_key", "message", "signature")
        )
        assert is_signed(key, signature, message) == one["is_valid"], one["id"]
        require_usable(key)


def test_signatures_of_rfc_8032_are_verified_and_those_of_other_messages_are_not():
    for key, message, signature in RFC_8032:
        parts = bytes.fromhex(key), bytes.fromhex(signature)
        assert is_signed(*parts, bytes.fromhex(message))
        assert not is_signed(*parts, bytes.fromhex(message) + b"\x00")


def test_the_key_of_rfc_8037_its_thumbprint_and_its_signature():
    key = public_key_of(RFC_8037_KEY)
    assert key_thumbprint(key) == "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"
    signed, _, signature = RFC_8037_JWS.rpartition(".")
    assert is_signed(key, decoded(signature), signed.encode())


def test_points_of_small_order_are_refused_in_each_encoding():
    """The eight points whose order divides eight, and the same ones encoded with a y beyond the prime."""
    prime, order_8 = 2**255 - 19, 0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826
    ys = [0, 1, prime - 1, order_8, prime - order_8, prime, prime + 1]
    encodings = [(y | sign << 255).to_bytes(32, "little") for y in ys for sign in (0, 1)]
    for key in encodings:
        try:
            require_usable(key)
        except NotAKey:
            continue
        raise AssertionError(key.hex())


def test_the_numbers_of_rfc_8785_are_read_as_the_doubles_that_it_names_and_written_as_the_same_number():
    for bits, text in RFC_8785_NUMBERS.items():
        number = read_json(text)
        assert struct.pack(">d", number).hex() == bits
        assert read_json(canonical_json(number)) == number
        assert Decimal(canonical_json(number).decode()) == Decimal(text)
