"""Messages as they travel: each a compact JWS by the key of the author's registry, `fed-transfer+jws`.

A `proof` is the whole text of an earlier statement of the addressee. It counts only under a key that this registry has or
had itself.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any
from uuid import UUID

from hansa.foundation.values.canonical import canonical_json
from hansa.foundation.values.did import DID_MAX_CHARACTERS
from hansa.foundation.values.money import NotAnAmount, format_amount, parse_amount, parse_positive
from hansa.rooms import federation
from hansa_verify import encoded
from hansa_verify.jws import CompactSignature, read_compact

from .messages import Body, Message, MessageType, Position, Swap

TYPE = "fed-transfer+jws"
KIND = "fed.transfer.v1"
MESSAGE_MAX_CHARACTERS = 16_384
MEMO_MAX_CHARACTERS = 256
CODE_MAX_CHARACTERS = 64
PURPOSE_MAX_CHARACTERS = 32
PURPOSE_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyz_")
NUMBER_MAX = 2**53
HEAD_CHARACTERS = 64
AMOUNT_CHARACTERS, CURRENCY_CHARACTERS = 32, 8
PARSED_MAX = 1024
"""Messages kept as they were parsed: those of the transfers under way with all peers."""
WITHOUT_TRANSFER = frozenset({MessageType.HEADS, MessageType.HEADS_STATE})


class MalformedMessage(Exception):
    """The text is no message of that author."""


def signed_text(key: federation.SigningKey, message: Message) -> str:
    """The message with the signature of this registry."""
    payload = canonical_json(_members(message, int(key.now.timestamp())))
    entry = federation.detached_signature(key, payload, {"typ": TYPE})
    return f"{entry['protected']}.{encoded(payload)}.{entry['signature']}"


def _members(message: Message, issued_at: int) -> dict[str, Any]:
    members: dict[str, Any] = {
        "kind": KIND,
        "type": message.type.value,
        "epoch": message.own.epoch,
        "seq": message.own.seq,
        "head": message.own.head,
        "seen": {"epoch": message.seen.epoch, "seq": message.seen.seq, "head": message.seen.head},
        "iat": issued_at,
    }
    body = message.body
    if body is not None:
        members |= {
            "transfer_id": body.transfer_id,
            "sender_did": body.sender_did,
            "receiver_did": body.receiver_did,
            "amount": format_amount(body.amount),
            "currency": body.currency,
            **_swap_members(body.swap),
        }
    optional = {
        "memo": body.memo if body else None,
        "purpose": body.purpose if body else None,
        "net": None if message.net is None else format_amount(message.net),
        "fee": None if message.fee is None else format_amount(message.fee),
        "code": message.code,
        "nonce": message.nonce,
        "proof": message.proof.raw if message.proof else None,
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


def read_message(text: str, peer_keys: Mapping[str, bytes]) -> Message:
    """The message of a peer with these keys by their kid; its proof is a claim still. Raises: MalformedMessage."""
    return _signed_by(text, peer_keys)


def proved(message: Message, own_keys: Mapping[str, bytes]) -> Message:
    """The message with its proof, if it bears a statement of this registry, which has or had these keys.

    Raises: MalformedMessage.
    """
    if message.claim is None:
        return message
    proof = _signed_by(message.claim, own_keys)
    # What a statement of this registry relied on was verified when it was made.
    relied_on = None if proof.claim is None else kept_message(proof.claim)
    return replace(message, proof=replace(proof, proof=relied_on))


def kept_message(text: str) -> Message:
    """A message that was verified before it was kept."""
    return _parsed(text)[1]


def _signed_by(text: str, keys: Mapping[str, bytes]) -> Message:
    signature, message = _parsed(text)
    public_key = keys.get(signature.entry.kid or "")
    if public_key is None or not signature.is_by(public_key):
        raise MalformedMessage("signature")
    return message


# A message that came in is read once more with its row, when the next one about its transfer comes.
@lru_cache(PARSED_MAX)
def _parsed(text: str) -> tuple[CompactSignature, Message]:
    """The message as it is written; its signature is not verified. Raises: MalformedMessage."""
    signature = read_compact(text, TYPE, MESSAGE_MAX_CHARACTERS)
    if signature is None:
        raise MalformedMessage("form")
    return signature, _message(signature, text)


def _message(signature: CompactSignature, text: str) -> Message:
    """The payload as a value. Raises: MalformedMessage."""
    payload = signature.payload
    if payload.get("kind") != KIND:
        raise MalformedMessage("kind")
    try:
        kind = MessageType(_text(payload, "type", CODE_MAX_CHARACTERS))
        own = _position(payload)
        seen = payload.get("seen")
        if not isinstance(seen, dict):
            raise MalformedMessage("seen")
        return Message(
            kind,
            None if kind in WITHOUT_TRANSFER else _body(payload),
            net=_amount(payload, "net"),
            fee=_amount(payload, "fee"),
            code=_optional(payload, "code", CODE_MAX_CHARACTERS),
            nonce=_optional(payload, "nonce", CODE_MAX_CHARACTERS),
            own=own,
            seen=_position(seen),
            raw=text,
            claim=_optional(payload, "proof", MESSAGE_MAX_CHARACTERS),
        )
    except (ValueError, NotAnAmount) as trouble:
        raise MalformedMessage("members") from trouble


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
        _optional(payload, "memo", MEMO_MAX_CHARACTERS),
        _swap(payload),
        _purpose(payload),
    )


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


def _position(members: Mapping[str, Any]) -> Position:
    head = _text(members, "head", HEAD_CHARACTERS)
    if len(head) != HEAD_CHARACTERS or not set(head) <= set("0123456789abcdef"):
        raise MalformedMessage("head")
    return Position(_number(members, "epoch"), _number(members, "seq"), head)


def _number(members: Mapping[str, Any], name: str) -> int:
    value = members.get(name)
    if type(value) is not int or not 0 <= value <= NUMBER_MAX:
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
