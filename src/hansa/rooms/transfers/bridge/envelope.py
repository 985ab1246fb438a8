"""Messages of the bridge as they travel: compact JWS by the key of the author's registry, `fed-bridge+jws`."""

from typing import Annotated, Literal
from uuid import UUID

import msgspec

from hansa.foundation.values.did import DID_MAX_CHARACTERS
from hansa.foundation.values.money import NotAnAmount, format_amount, parse_positive
from hansa.rooms import federation

from .messages import Direction, Message, MessageType, Terms

TYPE = "fed-bridge+jws"
KIND = "fed.bridge.v1"
MESSAGE_MAX_CHARACTERS = 4096

Did = Annotated[str, msgspec.Meta(min_length=1, max_length=DID_MAX_CHARACTERS, pattern=r"\A[^\x00]*\Z")]


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


def signed_text(key: federation.SigningKey, message: Message) -> str:
    """The message with the signature of this registry."""
    terms = message.terms
    members = {
        "kind": KIND,
        "type": message.type.value,
        "direction": terms.direction.value,
        "saga_id": terms.saga_id,
        "sender_did": terms.sender_did,
        "receiver_did": terms.receiver_did,
        "amount": format_amount(terms.amount),
        "currency": terms.currency,
    }
    if message.code is not None:
        members["code"] = message.code
    return federation.signed_message(key, TYPE, members)


def read_message(text: str, peer: federation.PeerRecord) -> Message | None:
    """The message of this peer; None where the text is none."""
    payload = federation.read_signed(text, TYPE, _Payload, peer, most_characters=MESSAGE_MAX_CHARACTERS)
    if payload is None:
        return None
    try:
        amount = parse_positive(payload.amount)
    except NotAnAmount:
        return None
    terms = Terms(
        str(payload.saga_id),
        payload.direction,
        payload.sender_did,
        payload.receiver_did,
        amount,
        payload.currency,
    )
    return Message(payload.type, terms, payload.code, raw=text)
