"""Delivery receipts: the signed members, and texts that are none."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from hansa_client.receipts import (
    DeliveryReceipt,
    HeldKey,
    ReceiptInvalid,
    StreamDigest,
    digest_of,
    sign_receipt,
    signing_key_of,
    stream_comment,
    verify_receipt,
)
from hansa_verify import encoded

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
AT = datetime(2030, 1, 31, 12, tzinfo=UTC)
RECEIPT = DeliveryReceipt("token-1", "sha256:" + "0" * 64, "sha256:" + "1" * 64, AT)
SIGNED = sign_receipt(RECEIPT, KEY)


def held(key: Ed25519PrivateKey = KEY, *, since: datetime = AT, until: datetime | None = None) -> HeldKey:
    raw = key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    return HeldKey({"kty": "OKP", "crv": "Ed25519", "x": encoded(raw)}, since, until)


def signed(members: object, header: dict[str, str] | None = None) -> str:
    parts = [header or {"alg": "EdDSA", "typ": "pay-delivery+jws"}, members]
    text = ".".join(encoded(json.dumps(part).encode()) for part in parts)
    return f"{text}.{encoded(KEY.sign(text.encode()))}"


def test_a_receipt_is_verified_by_a_key_of_its_time():
    assert verify_receipt(SIGNED, [held(Ed25519PrivateKey.generate()), held()]) == RECEIPT
    assert verify_receipt(SIGNED, [held(until=AT)]) == RECEIPT
    assert RECEIPT.payload()["at"] == "2030-01-31T12:00:00Z"


@pytest.mark.parametrize(
    "key",
    [
        held(since=AT + timedelta(seconds=1)),
        held(since=AT - timedelta(days=2), until=AT - timedelta(days=1)),
        HeldKey({"kty": "OKP", "crv": "Ed25519", "x": "AA"}, AT),
        held(Ed25519PrivateKey.from_private_bytes(bytes(32))),
    ],
    ids=["of later", "retired before", "no key", "of another"],
)
def test_a_receipt_is_refused_by_another_key(key: HeldKey):
    with pytest.raises(ReceiptInvalid, match="not signed by a key"):
        verify_receipt(SIGNED, [key])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a.b",
        "a.b.c",
        "x" * 5000,
        SIGNED[:-4],
        signed([]),
        signed({**RECEIPT.payload(), "kind": "pay.quote.v1"}),
        signed({**RECEIPT.payload(), "more": "x"}),
        signed({**RECEIPT.payload(), "at": 5}),
        signed({**RECEIPT.payload(), "at": "2030-01-31"}),
        signed({**RECEIPT.payload(), "at": "tomorrow"}),
        signed(RECEIPT.payload(), {"alg": "none", "typ": "pay-delivery+jws"}),
        signed(RECEIPT.payload(), {"alg": "EdDSA", "typ": "JWT"}),
    ],
    ids=map(str, range(13)),
)
def test_a_text_that_is_no_receipt_is_refused(text: str):
    with pytest.raises(ReceiptInvalid):
        verify_receipt(text, [held()])


def test_a_receipt_is_about_one_call():
    made = DeliveryReceipt.of("token-1", b"one", b"answer")
    made.require_call("token-1", b"one", b"answer")
    for other in (("token-2", b"one", b"answer"), ("token-1", b"two", b"answer"), ("token-1", b"one", b"")):
        with pytest.raises(ReceiptInvalid):
            made.require_call(*other)


@pytest.mark.parametrize("size", [1, 7, 5000, 100_000])
@pytest.mark.parametrize("answer", [b"", b"data: one\n\n", b"data: x\n\n" * 3000], ids=len)
def test_a_stream_has_its_receipt_and_its_digest_in_whatever_pieces_it_comes(answer: bytes, size: int):
    stream = answer + stream_comment(SIGNED)
    taken = StreamDigest()
    passed = [taken.take(stream[start : start + size]) for start in range(0, len(stream), size)]
    rest, *known = taken.end()
    assert (b"".join(passed) + rest, known) == (answer, [SIGNED, digest_of(answer)])


@pytest.mark.parametrize(
    "last",
    [
        b"",
        b": x-payment-receipt a.b.c",
        b": x-payment-receipt \xff\n\n",
        b"data: x: x-payment-receipt a.b.c\n\n",
        b": x-payment-receipt a.b.c\n\ndata: two\n\n",
        b": x-payment-receipt " + b"a" * 5000 + b"\n\n",
    ],
    ids=range(6),
)
@pytest.mark.parametrize("size", [1, 9, 10_000])
def test_a_stream_without_a_receipt_is_passed_on_whole(last: bytes, size: int):
    stream, taken = b"data: one\n\n" + last, StreamDigest()
    passed = [taken.take(stream[start : start + size]) for start in range(0, len(stream), size)]
    rest, *known = taken.end()
    assert (b"".join(passed) + rest, known) == (stream, [None, digest_of(stream)])


def test_an_event_of_a_stream_is_passed_on_at_once():
    assert StreamDigest().take(b"data: one\n\n") == b"data: one\n\n"


def test_a_key_that_is_not_that_of_an_agent_is_refused():
    key = generate_private_key(65537, 2048)
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    with pytest.raises(ValueError, match="Ed25519"):
        signing_key_of(pem)
