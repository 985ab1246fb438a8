"""What a reactor is."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

from hansa.foundation.events import Event
from hansa.foundation.plumbing.database import Tx
from hansa.rooms.journal.store import StoredEvent

React: TypeAlias = Callable[[Tx, StoredEvent], Awaitable[None]]


@dataclass(frozen=True)
class Reactor:
    """Calls `react` for each event of these types, in the order of the journal.

    What `react` writes and the reactor's place in the journal are one commit. It may be called again for an event
    whose commit did not come about, appends nothing to the journal itself and calls nobody over the network.
    A new reactor begins with what happens from now on, or with the first event ever if it is `from_the_start`.
    """

    name: str
    event_types: tuple[type[Event], ...]
    react: React
    from_the_start: bool = False

    @property
    def type_names(self) -> tuple[str, ...]:
        return tuple(kind.__name__ for kind in self.event_types)
