"""Signatures of wallets, against vectors made by another library."""

import json
from pathlib import Path
from typing import Any

import pytest

from hansa.foundation.values import ethereum
from tests.wallets import ORDER, TestWallet, high_s

VECTORS = Path(__file__).parents[1] / "vectors" / "wallets.json"
WALLETS = json.loads(VECTORS.read_text())["wallets"]

wallets = pytest.mark.parametrize("wallet", WALLETS, ids=[wallet["address"][:8] for wallet in WALLETS])


def raw(text: str) -> bytes:
    return bytes.fromhex(text.removeprefix("0x"))


@wallets
def test_the_address_of_a_key_is_shown_with_its_checksum(wallet: dict[str, Any]) -> None:
    assert ethereum.checksum_address(ethereum.address_of(raw(wallet["public_key"]))) == wallet["address"]


@wallets
def test_a_personal_message_is_verified_and_gives_its_key(wallet: dict[str, Any]) -> None:
    personal = wallet["personal"]
    digest, signature = ethereum.personal_digest(personal["text"]), raw(personal["signature"])
    assert digest == raw(personal["digest"])
    assert ethereum.recover(digest, signature) == raw(wallet["public_key"])
    assert ethereum.verify(raw(wallet["public_key"]), digest, signature)


@wallets
def test_a_typed_message_is_verified_and_gives_its_key(wallet: dict[str, Any]) -> None:
    digest, signature = raw(wallet["typed"]["digest"]), raw(wallet["typed"]["signature"])
    assert ethereum.recover(digest, signature) == raw(wallet["public_key"])
    assert ethereum.verify(raw(wallet["public_key"]), digest, signature)


@pytest.mark.parametrize(
    "address",
    [
        "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
        "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
        "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB",
        "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb",
        "0x52908400098527886E0F7030069857D2E4169EE7",
        "0xde709f2102306220921060314715629080e2fb77",
    ],
)
def test_the_checksum_is_that_of_eip_55(address: str) -> None:
    assert ethereum.checksum_address(raw(address)) == address


def test_keccak_is_that_of_ethereum_and_not_sha3() -> None:
    assert ethereum.keccak256(b"").hex() == "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470"


def test_a_high_s_is_refused() -> None:
    wallet, digest = TestWallet(7), ethereum.personal_digest("text")
    signature = wallet.sign_digest(digest)
    assert ethereum.verify(wallet.public_key, digest, signature)
    assert not ethereum.verify(wallet.public_key, digest, high_s(signature))
    with pytest.raises(ethereum.NotASignature):
        ethereum.recover(digest, high_s(signature))


def test_a_signature_of_the_wrong_form_is_refused() -> None:
    wallet, digest = TestWallet(7), ethereum.personal_digest("text")
    good = wallet.sign_digest(digest)
    r, s = good[:32], good[32:64]
    wrong = [
        b"",
        good[:64],
        good + b"\0",
        r + s + b"\x00",
        r + s + b"\x1d",
        bytes(32) + s + b"\x1b",
        r + bytes(32) + b"\x1b",
        ORDER.to_bytes(32) + s + b"\x1b",
        r + ORDER.to_bytes(32) + b"\x1b",
        b"\xff" * 65,
        (5).to_bytes(32) + s + b"\x1b",
    ]
    for signature in wrong:
        assert not ethereum.verify(wallet.public_key, digest, signature)
        with pytest.raises(ethereum.NotASignature):
            ethereum.recover(digest, signature)


def test_another_message_or_key_is_refused() -> None:
    wallet, other = TestWallet(7), TestWallet(8)
    signature = wallet.sign_digest(ethereum.personal_digest("text"))
    assert not ethereum.verify(wallet.public_key, ethereum.personal_digest("Text"), signature)
    assert not ethereum.verify(other.public_key, ethereum.personal_digest("text"), signature)


@pytest.mark.parametrize(
    "text", [None, 5, "", "0x", "0x0", "0xzz", "00", "0x0g", "0X00", "0x00 ", "0x٠٠", "0x0000"]
)
def test_only_the_given_number_of_hexadecimal_digits_is_read(text: object) -> None:
    assert ethereum.bytes_of_hex(text, 1) is None
    assert ethereum.bytes_of_hex("0x0f", 1) == b"\x0f"
