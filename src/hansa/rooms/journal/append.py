"""Write events in the transaction that caused them."""

from hansa.foundation.events import Event, event_json
from hansa.foundation.plumbing.database import Tx

from . import store


async def append(tx: Tx, *events: Event) -> None:
    """Record the events in order.

    Raises: asyncpg.UniqueViolationError when the key of an event is taken, which no use case of ours expects.
    """
    await store.insert_events(
        tx,
        [
            store.NewEvent(
                event_type=type(event).__name__,
                aggregate_id=event.aggregate_id,
                aggregate_type=event.aggregate_type,
                data=event_json(event),
                source_service=event.source,
                idempotency_key=event.unique_key,
            )
            for event in events
        ],
    )
