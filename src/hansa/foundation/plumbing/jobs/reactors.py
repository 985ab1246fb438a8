"""Definition of a reactor, and of the event that it is called with."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any, Protocol, TypeAlias
from uuid import UUID

import msgspec

from hansa.foundation.events import Event
from hansa.foundation.plumbing.storage.database import Tx


class StoredEvent(msgspec.Struct, frozen=True):
    """An event as the journal stores it; `xid` is the transaction that wrote it."""

    sequence: int
    id: UUID
    event_type: str
    aggregate_id: str
    aggregate_type: str
    data: dict[str, Any]
    metadata: dict[str, Any]
    timestamp: datetime
    version: int
    source_service: str
    idempotency_key: str | None
    xid: int


React: TypeAlias = Callable[[Tx, StoredEvent], Awaitable[None]]


class ReactTogether(Protocol):
    """Reacts to several events in order, with fewer statements than one after the other."""

    def __call__(self, tx: Tx, /, *events: StoredEvent) -> Awaitable[None]: ...


class Reactor(msgspec.Struct, frozen=True):
    """Calls `react` for each event of these types, in the order of the journal.

    The writes of `react` and the reactor's cursor in the journal are one commit. It may be called again for an event
    whose commit failed, appends nothing to the journal itself and calls no other host.
    A new reactor begins with the next event, or with the first event ever if it is `from_the_start`.
    `together`, where it is given, has the effect of `react` for many events at once; `react` is called when it fails.
    """

    name: str
    event_types: tuple[type[Event], ...]
    react: React
    from_the_start: bool = False
    together: ReactTogether | None = None

    @property
    def type_names(self) -> tuple[str, ...]:
        return tuple(kind.__name__ for kind in self.event_types)
