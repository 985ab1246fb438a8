"""Events of a book: the outcome of a command in the order in which it came about. Folded in order they give the book again."""

from collections.abc import Iterable
from typing import Literal, TypeAlias

import msgspec

from .commands import EndedByCommand, Side

EndedBecause: TypeAlias = EndedByCommand | Literal["filled", "replaced", "ioc", "fok", "collar", "self_trade"]


class Placed(msgspec.Struct, frozen=True, tag="placed"):
    """The order `seq` was accepted."""

    seq: int
    agent: str
    owner: str
    side: Side
    qty: int
    price: int | None


class Traded(msgspec.Struct, frozen=True, tag="traded"):
    """The order `taker` took `qty` of the resting order `maker`, at the price of the maker. Trades draw the numbers behind their command's."""

    seq: int
    taker: int
    maker: int
    price: int
    qty: int


class Rested(msgspec.Struct, frozen=True, tag="rested"):
    """The rest of the order `seq` joined the book behind the orders at its price."""

    seq: int
    agent: str
    owner: str
    side: Side
    price: int
    qty: int


class Ended(msgspec.Struct, frozen=True, tag="ended"):
    """`order` ended by the command or the trade `seq`, with this quantity not filled."""

    seq: int
    order: int
    remaining: int
    because: EndedBecause


class Refused(msgspec.Struct, frozen=True, tag="refused"):
    """The command changed nothing, and its number is free: it would have traded (`post_only`), or its order does not rest (`gone`)."""

    because: Literal["post_only", "gone"]


Event: TypeAlias = Placed | Traded | Rested | Ended | Refused

_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(Event)


def encoded(events: Iterable[Event]) -> bytes:
    """The events in JSON, a line each: one form for each event."""
    return _ENCODER.encode_lines(list(events))


def decoded(lines: bytes) -> list[Event]:
    """The events of these lines. Raises: msgspec.ValidationError."""
    return _DECODER.decode_lines(lines)
