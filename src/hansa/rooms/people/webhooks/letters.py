"""The mail to an owner whose webhook has stopped."""

import aiosmtplib
import structlog

from hansa.foundation.plumbing.mail import Mailbox

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

_log = structlog.get_logger()


async def tell_of_stop(mail: Mailbox, owner: Owner, errand: Errand, stopped: StoppedBy) -> None:
    """Mail the owner, after commit. A mail server out of reach is logged: the webhook itself shows that it stopped."""
    # The address itself may hold a secret of the receiver.
    text = LETTER.format(name=owner.name, webhook=errand.webhook_id, place=errand.place, why=WHY[stopped])
    try:
        await mail.send(to=owner.email, subject="Your webhook has been stopped", text=text)
    except (OSError, aiosmtplib.SMTPException) as trouble:
        _log.warning("mail of a stopped webhook not taken", trouble=type(trouble).__name__)
