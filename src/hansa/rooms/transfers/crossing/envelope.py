"""Messages as they travel: compact JWS by the key of the author's registry, `fed-transfer+jws`.

- A `proof` is the whole text of an earlier statement of the addressee. It counts only under a key that this registry has or
  had itself.
- A message that serves as no proof later, PREPARE and the confirmation of a receipt, is signed for several transfers at once
  (`transfers`, decision 0083), for a registry that says that it reads this.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any
from uuid import UUID

import msgspec
from msgspec.structs import replace

from hansa.foundation.values.did import DID_MAX_CHARACTERS
from hansa.foundation.values.money import NotAnAmount, format_amount, parse_amount, parse_positive
from hansa.rooms import federation
from hansa_verify import read_json
from hansa_verify.jws import CompactSignature

from .messages import Body, Code, Message, MessageType, Place, Position, Swap

KIND = "fed.transfer.v1"
MESSAGE_MAX_CHARACTERS = 16_384
ENVELOPE = federation.mailbox.Envelope("fed-transfer+jws", MESSAGE_MAX_CHARACTERS)
MalformedMessage = federation.mailbox.MalformedMessage
MEMO_MAX_CHARACTERS = 256
CODE_MAX_CHARACTERS = 64
PURPOSE_MAX_CHARACTERS = 32
PURPOSE_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyz_")
AMOUNT_CHARACTERS, CURRENCY_CHARACTERS = 32, 8
PARSED_MAX = 1024
"""Messages kept as they were parsed: those of the transfers under way with all peers."""
WITHOUT_TRANSFER = frozenset({MessageType.HEADS, MessageType.HEADS_STATE})
TOGETHER = frozenset({(MessageType.PREPARE, None), (MessageType.RECEIPT, Code.CLOSED.value)})
"""Type and code of what is signed for several transfers at once."""
TOGETHER_CHARACTERS = 11_000
"""Of the transfers that are signed at once: with the signature they are below MESSAGE_MAX_CHARACTERS in base64."""
MEMBERS_CHARACTERS = 500
"""What a transfer takes besides its DIDs and its memo, at most."""
ESCAPED_CHARACTERS = 12
"""What a character takes at most in canonical JSON."""

_HEAD = re.compile(r"[0-9a-f]{64}", re.ASCII)
_SORTED = msgspec.json.Encoder(order="sorted")


def signed_texts(
    key: federation.SigningKey, messages: Sequence[Message], *, together: bool = False
) -> list[str]:
    """The messages with the signature of this registry: one text each, as every registry reads them.

    `together`, for a registry that reads `transfers`: those of `TOGETHER` come last, several in one text.
    """
    if not together:
        return [signed_text(key, message) for message in messages]
    alone: list[str] = []
    alike: dict[tuple[str, str | None, Position, Position], list[Message]] = {}
    for message in messages:
        if (message.type, message.code) in TOGETHER and message.proof is None:
            named = (message.type.value, message.code, message.own, message.seen)
            alike.setdefault(named, []).append(message)
        else:
            alone.append(signed_text(key, message))
    return alone + [_signed_at_once(key, some) for many in alike.values() for some in _divided(many)]


def signed_text(key: federation.SigningKey, message: Message) -> str:
    """One message with the signature of this registry."""
    return ENVELOPE.sign(key, _head_members(message) | _transfer_members(message))


def _signed_at_once(key: federation.SigningKey, messages: Sequence[Message]) -> str:
    first = messages[0]
    if len(messages) == 1:
        return signed_text(key, first)
    members = {"transfers": [_transfer_members(one) for one in messages]}
    return ENVELOPE.sign(key, _head_members(first) | members)


def _divided(messages: Iterable[Message]) -> Iterator[list[Message]]:
    """The messages in parts that each fit into one text."""
    part: list[Message] = []
    size = 0
    for message in messages:
        body = message.body
        assert body is not None
        added = (
            MEMBERS_CHARACTERS
            + len(body.sender_did)
            + len(body.receiver_did)
            + ESCAPED_CHARACTERS * len(body.memo or "")
        )
        if part and size + added > TOGETHER_CHARACTERS:
            yield part
            part, size = [], 0
        part.append(message)
        size += added
    yield part


def _head_members(message: Message) -> dict[str, Any]:
    members = {
        "kind": KIND,
        "type": message.type.value,
        **federation.mailbox.placed_members(message.own, message.seen, message.to),
    }
    optional = {
        "code": message.code,
        "nonce": message.nonce,
        "place": {"epoch": message.place[0], "seq": message.place[1]} if message.place else None,
        "proof": message.proof.raw if message.proof else None,
    }
    return members | {name: value for name, value in optional.items() if value is not None}


def _transfer_members(message: Message) -> dict[str, Any]:
    body = message.body
    if body is None:
        return {}
    members = {
        "transfer_id": body.transfer_id,
        "sender_did": body.sender_did,
        "receiver_did": body.receiver_did,
        "amount": format_amount(body.amount),
        "currency": body.currency,
        **_swap_members(body.swap),
    }
    optional = {
        "memo": body.memo,
        "purpose": body.purpose,
        "net": None if message.net is None else format_amount(message.net),
        "fee": None if message.fee is None else format_amount(message.fee),
    }
    return members | {name: value for name, value in optional.items() if value is not None}


def _swap_members(swap: Swap | None) -> dict[str, Any]:
    if swap is None:
        return {}
    members = {
        "currency_received": swap.currency_received,
        "min_amount_out": format_amount(swap.min_amount_out),
        "amount_out": None if swap.amount_out is None else format_amount(swap.amount_out),
        "quote_id": swap.quote_id,
    }
    return {name: value for name, value in members.items() if value is not None}


def read_messages(text: str, peer_keys: Mapping[str, bytes]) -> tuple[Message, ...]:
    """Return the messages that a peer with these keys by their kid signed in one text; proofs are claims still. Raises: MalformedMessage."""
    return _signed_by(text, peer_keys)


def proved(message: Message, own_keys: Mapping[str, bytes]) -> Message:
    """The message with its proof, if it bears a statement of this registry, which has or had these keys.

    Raises: MalformedMessage.
    """
    if message.claim is None:
        return message
    proof = _only(_signed_by(message.claim, own_keys))
    # What a statement of this registry relied on was verified when it was made.
    relied_on = None if proof.claim is None else stored_message(proof.claim)
    return replace(message, proof=replace(proof, proof=relied_on))


def stored_message(text: str) -> Message:
    """A message that was verified before it was kept."""
    return _only(_parsed(text)[1])


def _only(messages: tuple[Message, ...]) -> Message:
    if len(messages) != 1:
        raise MalformedMessage("transfers")
    return messages[0]


def _signed_by(text: str, keys: Mapping[str, bytes]) -> tuple[Message, ...]:
    signature, messages = _parsed(text)
    federation.mailbox.require_signed(signature, keys)
    return messages


# A message that came in is read once more with its row, when the next one about its transfer comes.
@lru_cache(PARSED_MAX)
def _parsed(text: str) -> tuple[CompactSignature, tuple[Message, ...]]:
    """The messages as they are written; their signature is not verified. Raises: MalformedMessage."""
    signature = ENVELOPE.read(text, _read_payload)
    try:
        return signature, _messages(signature.payload, text)
    except (ValueError, NotAnAmount) as error:
        raise MalformedMessage("members") from error


def _read_payload(raw: bytes) -> Any:
    """Return the value of a strict JSON text. Raises: NotCanonical.

    A text in this registry's canonical form has no member twice and no number in two spellings: reading it fast is strict.
    """
    try:
        value = msgspec.json.decode(raw)
        if _SORTED.encode(value) == raw:
            return value
    except (msgspec.DecodeError, RecursionError):
        pass
    return read_json(raw)


def _messages(payload: Mapping[str, Any], text: str) -> tuple[Message, ...]:
    """The payload as values. Raises: MalformedMessage, ValueError."""
    if payload.get("kind") != KIND:
        raise MalformedMessage("kind")
    kind = MessageType(_text(payload, "type", CODE_MAX_CHARACTERS))
    seen = payload.get("seen")
    if not isinstance(seen, dict):
        raise MalformedMessage("seen")
    head = Message(
        kind,
        code=_optional(payload, "code", CODE_MAX_CHARACTERS),
        nonce=_optional(payload, "nonce", CODE_MAX_CHARACTERS),
        own=position_in(payload),
        seen=position_in(seen),
        claim=_optional(payload, "proof", MESSAGE_MAX_CHARACTERS),
        place=_place(payload),
        to=_optional(payload, "to", federation.mailbox.ADDRESSEE_MAX_CHARACTERS),
        raw=text,
    )
    if "transfers" in payload:
        return tuple(_of_transfer(head, one) for one in _transfers(head, payload["transfers"]))
    if kind in WITHOUT_TRANSFER:
        return (head,)
    return (_of_transfer(head, payload),)


def _transfers(head: Message, listed: Any) -> Sequence[Mapping[str, Any]]:
    """Raises: MalformedMessage, where the messages of these transfers are not to be signed at once."""
    if (head.type, head.code) not in TOGETHER or head.claim is not None:
        raise MalformedMessage("transfers")
    if not isinstance(listed, list) or not listed or not all(isinstance(one, dict) for one in listed):
        raise MalformedMessage("transfers")
    return listed


def _of_transfer(head: Message, members: Mapping[str, Any]) -> Message:
    return replace(head, body=_body(members), net=_amount(members, "net"), fee=_amount(members, "fee"))


def _body(payload: Mapping[str, Any]) -> Body:
    transfer_id = _text(payload, "transfer_id", 36)
    if str(UUID(transfer_id)) != transfer_id:
        raise MalformedMessage("transfer_id")
    return Body(
        transfer_id,
        _text(payload, "sender_did", DID_MAX_CHARACTERS),
        _text(payload, "receiver_did", DID_MAX_CHARACTERS),
        parse_positive(_text(payload, "amount", AMOUNT_CHARACTERS)),
        _text(payload, "currency", CURRENCY_CHARACTERS),
        _memo(payload),
        _swap(payload),
        _purpose(payload),
    )


def _memo(payload: Mapping[str, Any]) -> str | None:
    """Return the memo in the form that the payer wrote, which may be an empty text."""
    return "" if payload.get("memo") == "" else _optional(payload, "memo", MEMO_MAX_CHARACTERS)


def _purpose(payload: Mapping[str, Any]) -> str | None:
    purpose = _optional(payload, "purpose", PURPOSE_MAX_CHARACTERS)
    if purpose is not None and not set(purpose) <= PURPOSE_CHARACTERS:
        raise MalformedMessage("purpose")
    return purpose


def _swap(payload: Mapping[str, Any]) -> Swap | None:
    currency = _optional(payload, "currency_received", CURRENCY_CHARACTERS)
    if currency is None:
        return None
    least = parse_positive(_text(payload, "min_amount_out", AMOUNT_CHARACTERS))
    fixed = _amount(payload, "amount_out")
    if fixed is not None and fixed < least:
        raise MalformedMessage("amount_out")
    quote_id = _optional(payload, "quote_id", 36)
    if quote_id is not None and str(UUID(quote_id)) != quote_id:
        raise MalformedMessage("quote_id")
    return Swap(currency, least, fixed, quote_id)


def position_in(members: Mapping[str, Any]) -> Position:
    """The place of a chain that the members name. Raises: MalformedMessage."""
    head = members.get("head")
    if not isinstance(head, str) or not _HEAD.fullmatch(head):
        raise MalformedMessage("head")
    return Position(_number(members, "epoch"), _number(members, "seq"), head)


def _place(payload: Mapping[str, Any]) -> Place | None:
    place = payload.get("place")
    if place is None:
        return None
    if not isinstance(place, dict):
        raise MalformedMessage("place")
    return _number(place, "epoch"), _number(place, "seq")


def _number(members: Mapping[str, Any], name: str) -> int:
    value = members.get(name)
    if type(value) is not int or not 0 <= value <= federation.mailbox.NUMBER_MAX:
        raise MalformedMessage(name)
    return value


def _text(members: Mapping[str, Any], name: str, longest: int) -> str:
    value = members.get(name)
    if not isinstance(value, str) or not 0 < len(value) <= longest or "\0" in value:
        raise MalformedMessage(name)
    return value


def _optional(members: Mapping[str, Any], name: str, longest: int) -> str | None:
    return None if members.get(name) is None else _text(members, name, longest)


def _amount(members: Mapping[str, Any], name: str) -> int | None:
    return None if members.get(name) is None else parse_amount(_text(members, name, AMOUNT_CHARACTERS))
