"""Places of the own chain that a peer shows: in a text that this registry signed for it, of any kind that bears positions."""

from collections.abc import Mapping

from hansa.rooms import federation

from .envelope import ENVELOPE, MalformedMessage, position_in
from .messages import SHOWN_MAX_CHARACTERS, Position

SHOWN = [
    federation.mailbox.Envelope(typ, SHOWN_MAX_CHARACTERS)
    for typ in (ENVELOPE.typ, "fed-bridge+jws", "fed-slash+jws")
]


def presented_place(text: str, own_keys: Mapping[str, bytes], peer: str) -> Position | None:
    """The place at which this registry, which has or had these keys, signed the text for this peer; None where it did not.

    A text for another peer proves nothing: its place is of another chain.
    """
    for envelope in SHOWN:
        try:
            payload = envelope.verify(text, own_keys)
            return position_in(payload) if payload.get("to") == peer else None
        except MalformedMessage:
            continue
    return None
