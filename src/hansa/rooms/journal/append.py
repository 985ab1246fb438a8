"""Write events in the transaction that caused them, as far as their emission policies let them in.

A policy that says no keeps an event out and lets the act go on. Where no policy speaks, the ledger's side and a
registry that fails closed refuse the act: better no transfer than one without an event.
"""

from hansa.foundation.events import REGISTRY_ACCOUNT, Event, event_json
from hansa.foundation.plumbing.storage.database import Tx

from . import store
from .errors import EmissionUndecided


async def append(tx: Tx, *events: Event) -> None:
    """Record the events in order, in one statement.

    Raises: EmissionUndecided; asyncpg.UniqueViolationError when the key of an event is taken, which no use case of
    ours expects.
    """
    own_did = await store.registry_did(tx) if any(_is_of_registry(event) for event in events) else ""
    offered = [
        store.NewEvent(
            event_type=type(event).__name__,
            aggregate_id=own_did if _is_of_registry(event) else event.aggregate_id,
            aggregate_type=event.aggregate_type,
            data=event_json(event),
            source_service=event.source,
            idempotency_key=event.unique_key,
        )
        for event in events
    ]
    recorded = await store.insert_events(tx, offered)
    if recorded < len(offered) and (undecided := await store.undecided_types(tx, offered)):
        raise EmissionUndecided(
            f"No emission policy covers {', '.join(undecided)}.",
            context={"event_types": undecided},
        )


def _is_of_registry(event: Event) -> bool:
    return event.aggregate_id == REGISTRY_ACCOUNT
