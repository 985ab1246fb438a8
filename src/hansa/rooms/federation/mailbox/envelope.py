"""Signed messages between registries: compact JWS by the registry key of the author.

A message is an act of its author, known by the key: a peer's message counts only under a key of its own verified key set.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.canonical import canonical_json
from hansa.rooms.federation.charter import SigningKey, all_keys, detached_signature
from hansa_verify import encoded, read_json
from hansa_verify.jws import CompactSignature, read_compact

Payload = TypeVar("Payload")


class MalformedMessage(Exception):
    """The text is no message of that author."""


class Envelope(msgspec.Struct, frozen=True):
    """Form of the messages on one subject: `typ` of the JWS header, and the longest text that is read.

    `is_dated`: the payload has the time of the signature as `iat`.
    """

    typ: str
    most_characters: int
    is_dated: bool = True

    def sign(self, key: SigningKey, members: Mapping[str, Any]) -> str:
        """Sign the members as one text."""
        dated = {"iat": int(key.now.timestamp())} if self.is_dated else {}
        payload = canonical_json({**members, **dated})
        entry = detached_signature(key, payload, {"typ": self.typ})
        return f"{entry['protected']}.{encoded(payload)}.{entry['signature']}"

    def read(self, text: object, read_payload: Callable[[bytes], Any] = read_json) -> CompactSignature:
        """Read a text without verifying its signature. Raises: MalformedMessage."""
        signature = read_compact(text, self.typ, self.most_characters, read_payload)
        if signature is None:
            raise MalformedMessage("form")
        return signature

    def verify(self, text: object, keys: Mapping[str, bytes]) -> Mapping[str, Any]:
        """Return the payload of a text that one of these keys signed, named by their kid. Raises: MalformedMessage."""
        signature = self.read(text)
        require_signed(signature, keys)
        return signature.payload

    def verify_as(self, text: object, keys: Mapping[str, bytes], shape: type[Payload]) -> Payload:
        """Return the payload as `verify` does, in this shape. Raises: MalformedMessage."""
        return in_shape(self.verify(text, keys), shape)


def in_shape(payload: Mapping[str, Any], shape: type[Payload]) -> Payload:
    """Convert a payload to this shape, with its limits. Raises: MalformedMessage."""
    try:
        return msgspec.convert(dict(payload), shape)
    except msgspec.ValidationError as error:
        raise MalformedMessage("members") from error


def require_signed(signature: CompactSignature, keys: Mapping[str, bytes]) -> None:
    """Verify a signature by the key that it names. Raises: MalformedMessage."""
    key = keys.get(signature.entry.kid or "")
    if key is None or not signature.is_by(key):
        raise MalformedMessage("signature")


async def own_keys(tx: Tx) -> dict[str, bytes]:
    """Return every key that this registry has or had: a statement that a peer shows is proof under each of them."""
    return {key.kid: key.public_key for key in await all_keys(tx)}
