"""Messages of the bridge as they travel: compact JWS by the key of the author's registry, `fed-bridge+jws`."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec

from hansa.foundation.values.did import DID_MAX_CHARACTERS
from hansa.foundation.values.money import NotAnAmount, format_amount, parse_positive
from hansa.rooms import federation

from .messages import Direction, Message, MessageType, Terms

KIND = "fed.bridge.v1"
MESSAGE_MAX_CHARACTERS = 16_384
ENVELOPE = federation.mailbox.Envelope("fed-bridge+jws", MESSAGE_MAX_CHARACTERS)
MalformedMessage = federation.mailbox.MalformedMessage

Did = Annotated[str, msgspec.Meta(min_length=1, max_length=DID_MAX_CHARACTERS, pattern=r"\A[^\x00]*\Z")]


class _Payload(federation.mailbox.Placed, frozen=True, kw_only=True):
    kind: Literal["fed.bridge.v1"]
    type: MessageType
    direction: Direction
    saga_id: UUID
    sender_did: Did
    receiver_did: Did
    amount: Annotated[str, msgspec.Meta(max_length=32)]
    currency: Annotated[str, msgspec.Meta(pattern=r"\A[A-Z0-9]{2,8}\Z")]
    code: Annotated[str, msgspec.Meta(pattern=r"\A[A-Z0-9_]{1,64}\Z")] | None = None
    proof: Annotated[str, msgspec.Meta(max_length=MESSAGE_MAX_CHARACTERS)] | None = None


def signed_text(key: federation.SigningKey, message: Message) -> str:
    """The message with the signature of this registry."""
    terms = message.terms
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
        members |= federation.mailbox.placed_members(message.own, message.seen, message.to)
    elif message.to is not None:
        members["to"] = message.to
    if message.code is not None:
        members["code"] = message.code
    if message.proof is not None:
        members["proof"] = message.proof.raw
    return ENVELOPE.sign(key, members)


def read_message(text: str, keys: Mapping[str, bytes]) -> Message:
    """The message of the peer with these keys, its proof being a claim still. Raises: MalformedMessage."""
    return _message(ENVELOPE.verify(text, keys), text)


def proved(message: Message, own_keys: Mapping[str, bytes]) -> Message:
    """The message with its proof, if it bears a statement of this registry, which has or had these keys.

    Raises: MalformedMessage.
    """
    if message.claim is None:
        return message
    return replace(message, proof=read_message(message.claim, own_keys))


def stored_message(text: str) -> Message | None:
    """A message that was verified before it was kept; None where it cannot be read any more."""
    try:
        return _message(ENVELOPE.read(text).payload, text)
    except MalformedMessage:
        return None


def shortest(message: Message) -> str:
    """Return the text to store for a message: where its author repeats a statement with a proof in it, the statement that it made first.

    Else each restore would add a proof of a proof.
    """
    assert message.raw is not None
    proof = None if message.claim is None else stored_message(message.claim)
    first = None if proof is None or proof.claim is None else stored_message(proof.claim)
    is_same = first is not None and (first.type, first.terms) == (message.type, message.terms)
    return first.raw if is_same and first is not None and first.raw is not None else message.raw


def _message(members: Mapping[str, Any], text: str) -> Message:
    payload = federation.mailbox.in_shape(members, _Payload)
    try:
        amount = parse_positive(payload.amount)
    except NotAnAmount as error:
        raise MalformedMessage("amount") from error
    terms = Terms(
        str(payload.saga_id),
        payload.direction,
        payload.sender_did,
        payload.receiver_did,
        amount,
        payload.currency,
    )
    return Message(
        payload.type,
        terms,
        payload.code,
        own=payload.own_position,
        seen=payload.seen_position,
        to=payload.to,
        raw=text,
        claim=payload.proof,
    )
