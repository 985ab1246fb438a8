"""The mail to an owner whose webhook was stopped."""

from datetime import timedelta

from hansa.foundation.plumbing.jobs.mail_queue import OutgoingMail
from hansa.rooms.people import NOTICE_DAYS

from .records import PendingDelivery
from .rules import FAILURES_UNTIL_STOPPED, StoppedBy

WHY: dict[StoppedBy, str] = {
    "failures": f"{FAILURES_UNTIL_STOPPED} tries in a row have failed",
    "gone": "the receiver answered that it is gone for good (410)",
}


def webhook_stopped(*, to: str, name: str, delivery: PendingDelivery, stopped: StoppedBy) -> OutgoingMail:
    """Sent when the registry stops a webhook; of its address only the host, for the rest may be a secret of the receiver."""
    text = f"""Hello {name},

your webhook {delivery.webhook_id} at {delivery.place} has been stopped: {WHY[stopped]}.

Later events are not sent to it. What was waiting for it stays, for up to 30 days. When the receiver works
again, activate the webhook with PUT /api/v1/developers/webhooks/{delivery.webhook_id}.
"""
    return OutgoingMail(to, "Your webhook has been stopped", text, timedelta(days=NOTICE_DAYS))
