"""The webhooks of both owners of a payment, after it was settled or failed."""

from typing import Any

from hansa.foundation.events import A2APaymentFailed, A2APaymentSettled
from hansa.foundation.plumbing.database import Tx
from hansa.foundation.plumbing.reactors import Reactor
from hansa.rooms import agents, journal, people
from hansa.rooms.people import WebhookEvent


async def _notify_owners(tx: Tx, event: journal.StoredEvent) -> None:
    data = event.data
    is_settled = event.event_type == A2APaymentSettled.__name__
    kind = WebhookEvent.PAYMENT_SETTLED if is_settled else WebhookEvent.PAYMENT_SETTLEMENT_FAILED
    owners = {await agents.owner_of(tx, data[party]) for party in ("caller", "payee")}
    for owner in sorted(owner for owner in owners if owner is not None):
        await people.enqueue_webhook(tx, owner, kind, _payload(data, is_settled=is_settled))


def _payload(data: dict[str, Any], *, is_settled: bool) -> dict[str, Any]:
    """The members of the settle answer, with the task."""
    return {
        "token_id": data["token_id"],
        "status": "settled" if is_settled else "failed",
        "settlement_tx_id": f"tx-{data['tx_id']}" if is_settled else None,
        "amount": data["amount"],
        "currency": data["currency"],
        "caller_did": data["caller"],
        "target_agent_did": data["payee"],
        "task_id": data["task_id"],
        "reason": data.get("reason"),
    }


OWNERS_NOTIFIED = Reactor(
    "payments: owners notified by webhook", (A2APaymentSettled, A2APaymentFailed), _notify_owners
)
