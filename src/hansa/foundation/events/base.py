"""Base of all events: their shared fields."""

from collections.abc import Iterator
from typing import ClassVar

import msgspec

REGISTRY_ACCOUNT = "system:registry"
"""The system account of facts about the registry itself; the journal writes its DID."""


class Event(msgspec.Struct, frozen=True):
    """A past fact about one aggregate. The class name is the event type, the members are its data."""

    aggregate_type: ClassVar[str] = "agent"
    source: ClassVar[str] = "registry"
    is_always_recorded: ClassVar[bool] = False
    """No emission policy switches it off: it moves balances, makes or destroys units, records a policy, or is an act of governance."""
    is_private: ClassVar[bool] = False
    """Whether only its parties and internal readers see it."""
    withheld: ClassVar[tuple[str, ...]] = ()
    """Members that only parties and internal readers see; `entries.balance_after` is a member of each entry."""

    @property
    def aggregate_id(self) -> str:
        """The agent DID or system account that the fact is about, or REGISTRY_ACCOUNT."""
        raise AssertionError(f"{type(self).__name__} names no aggregate")

    @property
    def unique_key(self) -> str | None:
        """A key under which the journal holds at most one event, or None."""
        return None


class AgentEvent(Event, frozen=True):
    """A fact about the agent `did`."""

    did: str

    @property
    def aggregate_id(self) -> str:
        return self.did


def event_json(event: Event) -> str:
    """The event's members as JSON text."""
    return msgspec.json.encode(event).decode()


def event_types() -> list[type[Event]]:
    """Every event type, by name; a class that only gives others their shape is none."""
    return sorted(_types_below(Event), key=lambda kind: kind.__name__)


def _types_below(shape: type[Event]) -> Iterator[type[Event]]:
    for kind in shape.__subclasses__():
        if kind.__subclasses__():
            yield from _types_below(kind)
        else:
            yield kind
