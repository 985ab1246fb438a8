"""Matching of orders: pure `apply(book, command) → events`, the book that the events give, and its replay."""

from hansa.rooms.exchange.matching.applying import COLLAR_PERCENT, OutOfSequence, apply, collar_of
from hansa.rooms.exchange.matching.book import Book, HalfBook, Level, Resting, replayed
from hansa.rooms.exchange.matching.commands import Command, End, Place, Side, TimeInForce
from hansa.rooms.exchange.matching.events import (
    Ended,
    EndedBecause,
    Event,
    Placed,
    Refused,
    Rested,
    Traded,
    decoded,
    encoded,
)

__all__ = [
    "COLLAR_PERCENT",
    "Book",
    "Command",
    "End",
    "Ended",
    "EndedBecause",
    "Event",
    "HalfBook",
    "Level",
    "OutOfSequence",
    "Place",
    "Placed",
    "Refused",
    "Rested",
    "Resting",
    "Side",
    "TimeInForce",
    "Traded",
    "apply",
    "collar_of",
    "decoded",
    "encoded",
    "replayed",
]
