"""Signed messages between two registries: compact JWS by the registry key, sent in batches over mutual TLS.

The sagas between registries (bridge, slash settlements) use it. A message is an act of its author, who is known by the key:
what a peer sends counts only under a key of its own verified key set.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from hansa.foundation.plumbing.outgoing import CallLimits, OutgoingTrouble
from hansa.foundation.plumbing.peer_caller import PeerClosed
from hansa.foundation.plumbing.runtime import Runtime
from hansa.foundation.values.canonical import canonical_json
from hansa.rooms.federation.charter import SigningKey, detached_signature
from hansa.rooms.federation.identity import FederationOff
from hansa_verify import encoded
from hansa_verify.jws import read_compact

from .calling import call_peer
from .keys_in_force import keys_in_force
from .records import PeerRecord

LIMITS = CallLimits(seconds=10.0, body_bytes=2 * 1024 * 1024)
OK = 200

Payload = TypeVar("Payload", bound=msgspec.Struct)


class PeerSilent(Exception):
    """The peer did not answer, or not with messages; `reason` may be stored."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class _Answers(msgspec.Struct):
    messages: list[str]


async def post_messages(runtime: Runtime, peer: PeerRecord, path: str, texts: Sequence[str]) -> list[str]:
    """Send messages to a route of a peer; its messages in answer. Never within a transaction. Raises: PeerSilent."""
    try:
        answer = await call_peer(runtime, peer, "POST", path, {"messages": list(texts)}, limits=LIMITS)
    except OutgoingTrouble as trouble:
        raise PeerSilent(trouble.reason) from None
    except (PeerClosed, FederationOff) as refusal:
        raise PeerSilent(refusal.code.lower()) from None
    if answer.status != OK:
        raise PeerSilent(f"status_{answer.status}")
    try:
        return msgspec.json.decode(answer.body, type=_Answers).messages
    except msgspec.DecodeError:
        raise PeerSilent("unreadable_answer") from None


def signed_message(key: SigningKey, typ: str, members: Mapping[str, Any]) -> str:
    """The members and the time of the signature as a compact JWS of this type."""
    payload = canonical_json({**members, "iat": int(key.now.timestamp())})
    entry = detached_signature(key, payload, {"typ": typ})
    return f"{entry['protected']}.{encoded(payload)}.{entry['signature']}"


def read_signed(
    text: object, typ: str, shape: type[Payload], peer: PeerRecord, *, most_characters: int
) -> Payload | None:
    """What a peer signed, in this shape; None where it is no message of this type by a key of the peer."""
    signature = read_compact(text, typ, most_characters)
    key = None if signature is None else keys_in_force(peer).get(signature.entry.kid or "")
    if signature is None or key is None or not signature.is_by(key):
        return None
    try:
        return msgspec.convert(dict(signature.payload), shape)
    except msgspec.ValidationError:
        return None
