"""Signals: payments, completed contracts and rulings, written once each by a reactor on their events."""

from hansa.foundation.events import A2APaymentSettled, ContractCompleted, DisputeRuled
from hansa.foundation.plumbing.database import Tx
from hansa.foundation.plumbing.jobs import enqueue
from hansa.foundation.plumbing.reactors import Reactor, StoredEvent
from hansa.foundation.values.money import ZERO, parse_amount
from hansa_verify import read_signal

from . import store
from .recording import RECORDING


async def _note(tx: Tx, event: StoredEvent) -> None:
    signal = read_signal(
        {"event_type": event.event_type, "timestamp": event.timestamp.isoformat(), "data": event.data}
    )
    if signal is None:
        # A dispute that was dismissed says nothing of its parties.
        return
    amount = parse_amount(event.data["amount"]) if signal.kind == "payment" else ZERO
    await store.add_signal(tx, event, signal, amount)
    await enqueue(tx, RECORDING, "all")


SIGNALS = Reactor(
    "reputation: signals", (A2APaymentSettled, ContractCompleted, DisputeRuled), _note, from_the_start=True
)
