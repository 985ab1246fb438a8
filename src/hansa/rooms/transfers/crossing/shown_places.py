"""Places of the own chain that a peer shows: in a text that this registry signed for it, of any kind that bears positions."""

from collections.abc import Mapping

from hansa_verify.jws import read_compact

from .envelope import TYPE, MalformedMessage, position_in
from .messages import SHOWN_MAX_CHARACTERS, Position

TYPES = (TYPE, "fed-bridge+jws", "fed-slash+jws")


def shown_place(text: str, own_keys: Mapping[str, bytes], peer: str) -> Position | None:
    """The place at which this registry, which has or had these keys, signed the text for this peer; None where it did not.

    A text for another peer proves nothing: its place is of another chain.
    """
    for typ in TYPES:
        signature = read_compact(text, typ, SHOWN_MAX_CHARACTERS)
        key = None if signature is None else own_keys.get(signature.entry.kid or "")
        if signature is None or key is None or signature.payload.get("to") != peer:
            continue
        try:
            return position_in(signature.payload) if signature.is_by(key) else None
        except MalformedMessage:
            return None
    return None
