"""Signals: payments, completed contracts and rulings, written once each by a reactor on their events."""

from hansa.foundation.events import (
    A2APaymentSettled,
    ContractCompleted,
    CrossRegistryTransferCompleted,
    DisputeRuled,
)
from hansa.foundation.plumbing.jobs import enqueue
from hansa.foundation.plumbing.jobs.reactors import Reactor, StoredEvent
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import ZERO, Minor, parse_amount
from hansa_verify import Signal, read_signal

from . import store
from .funding import evaluate
from .recording import RECORDING


async def _note(tx: Tx, /, *events: StoredEvent) -> None:
    # A dispute that was dismissed says nothing of its parties.
    found = [(event, signal) for event in events if (signal := _signal_of(event))]
    known = await store.noted_events(tx, [event.sequence for event, _ in found]) if found else frozenset()
    noted = [(event, signal, _paid(event, signal)) for event, signal in found if event.sequence not in known]
    if noted:
        await store.add_signals(tx, await evaluate(tx, noted))
        await enqueue(tx, RECORDING, "all")


def _signal_of(event: StoredEvent) -> Signal | None:
    return read_signal(
        {"event_type": event.event_type, "timestamp": event.timestamp.isoformat(), "data": event.data}
    )


def _paid(event: StoredEvent, signal: Signal) -> Minor:
    if signal.kind != "payment":
        return ZERO
    # What came from another registry is distinguished from what its payee received of it.
    return parse_amount(event.data.get("amount_received") or event.data["amount"])


SIGNALS = Reactor(
    "reputation: signals",
    (A2APaymentSettled, ContractCompleted, CrossRegistryTransferCompleted, DisputeRuled),
    _note,
    from_the_start=True,
    together=_note,
)
