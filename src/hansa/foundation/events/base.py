"""What all events share."""

from dataclasses import asdict, dataclass
from typing import Any, ClassVar


@dataclass(frozen=True)
class Event:
    """A past fact about one aggregate. The class name is the event type."""

    aggregate_type: ClassVar[str] = "agent"
    source: ClassVar[str] = "registry"

    @property
    def aggregate_id(self) -> str:
        """The agent DID or system account that the fact is about."""
        raise AssertionError(f"{type(self).__name__} names no aggregate")

    @property
    def unique_key(self) -> str | None:
        """A key under which the journal holds at most one event, or None."""
        return None


def event_data(event: Event) -> dict[str, Any]:
    """The event's members as JSON-ready values; a trailing underscore in a name is Python's, not the wire's."""
    return {name.rstrip("_"): value for name, value in asdict(event).items()}


def event_types() -> list[type[Event]]:
    """Every event type, by name."""
    return sorted(Event.__subclasses__(), key=lambda kind: kind.__name__)
