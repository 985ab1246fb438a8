"""The mail to an owner whose webhook has stopped."""

from datetime import timedelta

from hansa.foundation.plumbing.post import Letter

from .records import Errand, Owner
from .rules import FAILURES_UNTIL_STOPPED, StoppedBy

LETTER = """Hello {name},

your webhook {webhook} at {place} has been stopped: {why}.

What happens from now on is not told to it. What was waiting for it stays, for up to 30 days. When the receiver is well
again, set the webhook going with PUT /api/v1/developers/webhooks/{webhook}.
"""
WHY: dict[StoppedBy, str] = {
    "failures": f"{FAILURES_UNTIL_STOPPED} tries in a row have failed",
    "gone": "the receiver answered that it is gone for good (410)",
}
GOOD_FOR = timedelta(days=3)


def of_stop(owner: Owner, errand: Errand, stopped: StoppedBy) -> Letter:
    """What the owner is told."""
    # The address itself may hold a secret of the receiver.
    text = LETTER.format(name=owner.name, webhook=errand.webhook_id, place=errand.place, why=WHY[stopped])
    return Letter(owner.email, "Your webhook has been stopped", text, GOOD_FOR)
