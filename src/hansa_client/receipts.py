"""Delivery receipts: a service signs which answer it returned to which request, for which payment token. No I/O.

- A receipt is a compact JSON Web Signature (RFC 7515) by the Ed25519 key of the agent that was paid. Its payload is
  {kind `pay.delivery.v1`, token_id, request_digest, answer_digest, at}, in the canonical form of RFC 8785.
- The digests are `sha256:` and the SHA-256 of the bytes of the request's and the answer's body.
- Of a call of a tool (MCP) the bytes are the JSON of its arguments, and of `content`, `structuredContent` and `isError` of its
  result: members sorted, no spaces, ASCII.
- At the end of a stream of events the receipt is a comment, which is not part of the answer.
- Whose keys count, and when they were valid, is decided by the reader; a key inside the header is never used.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Self

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key

from hansa_verify import (
    NotAKey,
    NotBase64url,
    NotCanonical,
    canonical_json,
    decoded,
    encoded,
    public_key_of,
    read_json,
)

from .errors import HansaError

RECEIPT_HEADER = "x-payment-receipt"
KIND = "pay.delivery.v1"
TYPE = "pay-delivery+jws"
# A receipt is brought as the note of a piece of evidence, which has this many characters at most.
MAX_CHARACTERS = 2000
PARTS = 3
KEYS_KEPT = 64
_COMMENT, _COMMENT_END = b": x-payment-receipt ", b"\n\n"
_COMMENT_MAX = len(_COMMENT) + MAX_CHARACTERS + len(_COMMENT_END)


class ReceiptInvalid(HansaError):
    """The text is not a delivery receipt by one of the keys, or it is about another call."""


class HeldKey(msgspec.Struct, frozen=True):
    """A public key of an agent; a signature counts when it was made between the two moments."""

    public_key_jwk: dict[str, Any]
    valid_from: datetime
    valid_until: datetime | None = None


@dataclass(frozen=True)
class DeliveryReceipt:
    """Statement of a receipt. Nothing of it is proven before `verify_receipt`."""

    token_id: str
    request_digest: str
    answer_digest: str
    at: datetime

    @classmethod
    def of(cls, token_id: str, request: bytes, answer: bytes) -> Self:
        """The receipt of a call that was answered now."""
        return cls(token_id, digest_of(request), digest_of(answer), datetime.now(UTC).replace(microsecond=0))

    def require_call(self, token_id: str, request: bytes, answer: bytes) -> None:
        """Raises: ReceiptInvalid where it is about another call than this one."""
        self.require_digests(token_id, digest_of(request), digest_of(answer))

    def require_digests(self, token_id: str, request_digest: str, answer_digest: str) -> None:
        """Require that it is about the call with these digests. Raises: ReceiptInvalid."""
        stated = (self.token_id, self.request_digest, self.answer_digest)
        if stated != (token_id, request_digest, answer_digest):
            raise ReceiptInvalid("The delivery receipt is about another token, request or answer.")

    def payload(self) -> dict[str, str]:
        """The members that are signed."""
        return {
            "kind": KIND,
            "token_id": self.token_id,
            "request_digest": self.request_digest,
            "answer_digest": self.answer_digest,
            "at": self.at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        }


def digest_of(body: bytes) -> str:
    """`sha256:` and the digest of a body in hexadecimal digits."""
    return "sha256:" + hashlib.sha256(body).hexdigest()


def bytes_of_tool_call(arguments: Mapping[str, Any]) -> bytes:
    """Return the bytes for the request digest of a tool's call: its arguments as the tool receives them."""
    return _sorted_json(arguments)


def bytes_of_tool_result(result: Mapping[str, Any]) -> bytes:
    """Return the bytes for the answer digest of a tool's call: its result as it is sent, without `_meta`."""
    stated = {name: result.get(name) for name in ("content", "structuredContent")}
    return _sorted_json({**stated, "isError": bool(result.get("isError"))})


def stream_comment(receipt: str) -> bytes:
    """The comment that ends a stream of events; readers of events ignore it."""
    return _COMMENT + receipt.encode() + _COMMENT_END


class StreamDigest:
    """Takes a stream of events as it comes, passes on all but the receipt at its end, and digests the bytes passed on."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256()
        self._held, self._is_line_start = b"", True

    def take(self, chunk: bytes) -> bytes:
        """Return those of these bytes, and of the bytes held back before, that belong to no receipt."""
        self._held += chunk
        start = self._start_of_comment()
        return self._passed(start)

    def end(self) -> tuple[bytes, str | None, str]:
        """The rest of the answer, its receipt if there is one, and the digest of the answer."""
        text = self._held[len(_COMMENT) : -len(_COMMENT_END)]
        is_receipt = (
            self._is_line_start
            and self._held == _COMMENT + text + _COMMENT_END
            and text.isascii()
            and b"\n" not in text
        )
        rest = b"" if is_receipt else self._passed(len(self._held))
        return rest, text.decode() if is_receipt else None, "sha256:" + self._digest.hexdigest()

    def _passed(self, end: int) -> bytes:
        passed, self._held = self._held[:end], self._held[end:]
        if passed:
            self._is_line_start = passed.endswith(b"\n")
        self._digest.update(passed)
        return passed

    def _start_of_comment(self) -> int:
        """Return the index at which the comment of a receipt may have begun; the end of the held bytes if there is none."""
        start = self._held.find(_COMMENT)
        while start >= 0 and len(self._held) - start > _COMMENT_MAX:
            start = self._held.find(_COMMENT, start + 1)
        if start >= 0:
            return start
        sizes = range(min(len(_COMMENT) - 1, len(self._held)), 0, -1)
        size = next((size for size in sizes if self._held.endswith(_COMMENT[:size])), 0)
        return len(self._held) - size


def signing_key_of(pem: str) -> Ed25519PrivateKey:
    """The private key of an agent, as `agent export` writes it (PKCS#8). Raises: ValueError."""
    key = load_pem_private_key(pem.encode(), password=None)
    if not isinstance(key, Ed25519PrivateKey):
        raise ValueError("the key of an agent is an Ed25519 key in PKCS#8")  # noqa: TRY004
    return key


def sign_receipt(receipt: DeliveryReceipt, key: Ed25519PrivateKey) -> str:
    """The compact JWS; `kid` is the thumbprint (RFC 7638) of the key."""
    signed = f"{_header(key)}.{encoded(canonical_json(receipt.payload()))}"
    return f"{signed}.{encoded(key.sign(signed.encode()))}"


def read_receipt(text: str) -> DeliveryReceipt:
    """Return the statement of a receipt, before its signature is verified. Raises: ReceiptInvalid."""
    _, payload, _ = _parts(text)
    members = ("token_id", "request_digest", "answer_digest", "at")
    if payload.get("kind") != KIND or set(payload) != {"kind", *members}:
        raise ReceiptInvalid(f"The payload of a delivery receipt has the kind {KIND} and its five members.")
    if not all(isinstance(payload[name], str) for name in members):
        raise ReceiptInvalid("The members of a delivery receipt are texts.")
    at = None
    with suppress(ValueError):
        at = datetime.fromisoformat(payload["at"])
    if at is None or at.tzinfo is None:
        raise ReceiptInvalid("`at` of a delivery receipt is an ISO 8601 moment with a zone.")
    return DeliveryReceipt(payload["token_id"], payload["request_digest"], payload["answer_digest"], at)


def verify_receipt(text: str, keys: Iterable[HeldKey]) -> DeliveryReceipt:
    """Return the statement of a receipt signed by one of these keys while it was valid. Raises: ReceiptInvalid."""
    receipt = read_receipt(text)
    _, _, signature = _parts(text)
    signed = text.rpartition(".")[0].encode()
    for key in keys:
        is_of_its_time = key.valid_from.replace(microsecond=0) <= receipt.at and (
            key.valid_until is None or receipt.at <= key.valid_until
        )
        if is_of_its_time and _is_by(key.public_key_jwk, signed, signature):
            return receipt
    raise ReceiptInvalid("The delivery receipt is not signed by a key that the agent had at that time.")


def _sorted_json(members: Mapping[str, Any]) -> bytes:
    return json.dumps(members, sort_keys=True, separators=(",", ":"), default=str).encode()


def _parts(text: str) -> tuple[dict[str, Any], dict[str, Any], bytes]:
    parts = text.split(".") if len(text) <= MAX_CHARACTERS else []
    if len(parts) != PARTS:
        raise ReceiptInvalid("A delivery receipt is a compact JWS of three parts.")
    try:
        header, payload = read_json(decoded(parts[0])), read_json(decoded(parts[1]))
        signature = decoded(parts[2])
    except (NotBase64url, NotCanonical) as error:
        raise ReceiptInvalid(f"The delivery receipt cannot be read: {error}") from None
    if not isinstance(header, dict) or not isinstance(payload, dict):
        raise ReceiptInvalid("Header and payload of a delivery receipt are objects.")
    if (header.get("alg"), header.get("typ")) != ("EdDSA", TYPE) or "crit" in header:
        raise ReceiptInvalid(f"The header of a delivery receipt has alg EdDSA and typ {TYPE}.")
    return header, payload, signature


def _is_by(public_key_jwk: dict[str, Any], signed: bytes, signature: bytes) -> bool:
    try:
        public_key = Ed25519PublicKey.from_public_bytes(public_key_of(public_key_jwk))
        public_key.verify(signature, signed)
    except (InvalidSignature, NotAKey):
        return False
    return True


@lru_cache(KEYS_KEPT)
def _header(key: Ed25519PrivateKey) -> str:
    return encoded(canonical_json({"alg": "EdDSA", "kid": _thumbprint(key), "typ": TYPE}))


def _thumbprint(key: Ed25519PrivateKey) -> str:
    raw = key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    jwk = {"crv": "Ed25519", "kty": "OKP", "x": encoded(raw)}
    return encoded(hashlib.sha256(canonical_json(jwk)).digest())
