"""Messages of the bridge as they travel: compact JWS by the key of the author's registry, `fed-bridge+jws`."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec

from hansa.foundation.values.did import DID_MAX_CHARACTERS
from hansa.foundation.values.money import NotAnAmount, format_amount, parse_positive
from hansa.rooms import federation
from hansa.rooms.transfers.crossing.messages import ADDRESSEE_MAX_CHARACTERS, NO_HEAD, NOWHERE, Position
from hansa_verify.jws import CompactSignature, read_compact

from .messages import Direction, Message, MessageType, Terms

TYPE = "fed-bridge+jws"
KIND = "fed.bridge.v1"
MESSAGE_MAX_CHARACTERS = 16_384

Did = Annotated[str, msgspec.Meta(min_length=1, max_length=DID_MAX_CHARACTERS, pattern=r"\A[^\x00]*\Z")]


Number = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
Head = Annotated[str, msgspec.Meta(pattern=r"\A[0-9a-f]{64}\Z")]


class _Position(msgspec.Struct, frozen=True):
    epoch: Number
    seq: Number
    head: Head


class _Payload(msgspec.Struct, frozen=True):
    kind: Literal["fed.bridge.v1"]
    type: MessageType
    direction: Direction
    saga_id: UUID
    sender_did: Did
    receiver_did: Did
    amount: Annotated[str, msgspec.Meta(max_length=32)]
    currency: Annotated[str, msgspec.Meta(pattern=r"\A[A-Z0-9]{2,8}\Z")]
    code: Annotated[str, msgspec.Meta(pattern=r"\A[A-Z0-9_]{1,64}\Z")] | None = None
    epoch: Number = 0
    seq: Number = 0
    head: Head = NO_HEAD
    seen: _Position | None = None
    to: Annotated[str, msgspec.Meta(max_length=ADDRESSEE_MAX_CHARACTERS)] | None = None
    proof: Annotated[str, msgspec.Meta(max_length=MESSAGE_MAX_CHARACTERS)] | None = None


def signed_text(key: federation.SigningKey, message: Message) -> str:
    """The message with the signature of this registry."""
    terms, own, seen = message.terms, message.own, message.seen
    members: dict[str, Any] = {
        "kind": KIND,
        "type": message.type.value,
        "direction": terms.direction.value,
        "saga_id": terms.saga_id,
        "sender_did": terms.sender_did,
        "receiver_did": terms.receiver_did,
        "amount": format_amount(terms.amount),
        "currency": terms.currency,
    }
    if message.has_positions:
        members |= {"epoch": own.epoch, "seq": own.seq, "head": own.head}
        members["seen"] = {"epoch": seen.epoch, "seq": seen.seq, "head": seen.head}
    if message.to is not None:
        members["to"] = message.to
    if message.code is not None:
        members["code"] = message.code
    if message.proof is not None:
        members["proof"] = message.proof.raw
    return federation.signed_message(key, TYPE, members)


def read_message(text: str, peer: federation.PeerRecord) -> Message | None:
    """The message of this peer, its proof being a claim still; None where the text is none."""
    return _signed_by(text, federation.keys_in_force(peer))


def proved(message: Message, own_keys: Mapping[str, bytes]) -> Message | None:
    """The message with its proof, if it bears a statement of this registry, which has or had these keys; None where it is none."""
    if message.claim is None:
        return message
    proof = _signed_by(message.claim, own_keys)
    return None if proof is None else replace(message, proof=proof)


def kept_message(text: str) -> Message | None:
    """A message that was verified before it was kept."""
    signature = read_compact(text, TYPE, MESSAGE_MAX_CHARACTERS)
    return None if signature is None else _message(signature, text)


def shortest(message: Message) -> str:
    """The text to be kept of a message: of what an author repeats with a proof in it, the statement that it made first.

    Else each restore would add a proof of a proof.
    """
    assert message.raw is not None
    proof = None if message.claim is None else kept_message(message.claim)
    first = None if proof is None or proof.claim is None else kept_message(proof.claim)
    is_same = first is not None and (first.type, first.terms) == (message.type, message.terms)
    return first.raw if is_same and first is not None and first.raw is not None else message.raw


def _signed_by(text: str, keys: Mapping[str, bytes]) -> Message | None:
    signature = read_compact(text, TYPE, MESSAGE_MAX_CHARACTERS)
    key = None if signature is None else keys.get(signature.entry.kid or "")
    if signature is None or key is None or not signature.is_by(key):
        return None
    return _message(signature, text)


def _message(signature: CompactSignature, text: str) -> Message | None:
    try:
        payload = msgspec.convert(dict(signature.payload), _Payload)
        amount = parse_positive(payload.amount)
    except (msgspec.ValidationError, NotAnAmount):
        return None
    terms = Terms(
        str(payload.saga_id),
        payload.direction,
        payload.sender_did,
        payload.receiver_did,
        amount,
        payload.currency,
    )
    seen = payload.seen
    return Message(
        payload.type,
        terms,
        payload.code,
        own=Position(payload.epoch, payload.seq, payload.head),
        seen=NOWHERE if seen is None else Position(seen.epoch, seen.seq, seen.head),
        to=payload.to,
        raw=text,
        claim=payload.proof,
    )
