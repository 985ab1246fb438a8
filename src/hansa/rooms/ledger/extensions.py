"""Typed extensions: a room claims and records rows of its own in the commit of its orders.

A kind of extension is two functions in the room's SQL files, `<kind>_claim` and `<kind>_record` (`sql/extensions.sql`
says how they are called). Here stands the Python side: an order gets an extension, the caller reads its outcome.
"""

from collections.abc import Mapping
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from .orders import ExtensionLine, Order, nothing_but

Payload = TypeVar("Payload", bound=msgspec.Struct)
Outcome = TypeVar("Outcome")


class Extended(Protocol):
    """Outcome of an order: a result or a receipt."""

    @property
    def extension(self) -> str | None:
        """Outcome of its extension, in JSON."""
        ...


class ClaimRefused(Exception):
    """An extension refused its order. The caller turns it into a refusal of its own."""

    def __init__(self, code: str, detail: Mapping[str, Any]) -> None:
        super().__init__(code)
        self.code = code
        self.detail = detail


class Extension(msgspec.Struct, Generic[Payload, Outcome], frozen=True):
    """Kind of extension: its payload and its outcome. One that is not recorded has only the function `<kind>_claim`."""

    kind: str
    payload: type[Payload]
    outcome: type[Outcome]
    is_recorded: bool = True

    def on(self, order: Order, payload: Payload) -> Order:
        """The order with this extension. Carrying it out may raise ClaimRefused."""
        return order.extended(ExtensionLine(self.kind, payload, self.is_recorded))

    def alone(self, payload: Payload) -> Order:
        """An order that moves no units. Carrying it out may raise ClaimRefused."""
        return nothing_but(ExtensionLine(self.kind, payload, self.is_recorded))

    def outcome_of(self, done: Extended) -> Outcome:
        """Return the outcome that the functions of this kind gave for an order; its members are those of both."""
        return msgspec.json.decode(done.extension or "{}", type=self.outcome)


def refused_claim(answer: str) -> ClaimRefused:
    """The refusal that the engine reports."""
    reported = msgspec.json.decode(answer)
    return ClaimRefused(reported["refusal"], reported["detail"] or {})
