"""Verification of an e-mail address: a link is mailed, and its first visit verifies.

A link is good for a day. Visited again, it says that the address is verified already; it logs nobody in.
"""

import aiosmtplib
import structlog

from hansa.foundation.plumbing.database import Tx
from hansa.foundation.plumbing.mail import Mailbox
from hansa.foundation.words.secrets import fingerprint, new_hex

from . import store
from .errors import VerificationLinkInvalid

LINK_HOURS = 24
RESEND_PAUSE_MINUTES = 5
LETTER = """Hello {name},

please confirm your e-mail address by opening this link within {hours} hours:

{link}

If you did not register here, ignore this mail.
"""

_log = structlog.get_logger()


async def verify_email(tx: Tx, token: str) -> bool:
    """Verify the address that the token was mailed to; False when it was verified already.

    Raises: VerificationLinkInvalid.
    """
    token_hash = fingerprint(token)
    if await store.consume_verification_link(tx, token_hash):
        link = await store.verification_link(tx, token_hash)
        assert link is not None
        await store.mark_verified(tx, link.developer_id)
        return not link.is_verified
    link = await store.verification_link(tx, token_hash)
    if link is None or not link.is_verified:
        raise VerificationLinkInvalid
    return False


async def new_link(tx: Tx, developer_id: int, base_url: str) -> str:
    """A link to mail; earlier ones of the account stay good."""
    token = new_hex("evt_")
    await store.add_verification_link(tx, developer_id, fingerprint(token), LINK_HOURS)
    return f"{base_url}/api/v1/auth/verify-email?token={token}"


async def new_link_if_due(tx: Tx, developer_id: int, base_url: str) -> str | None:
    """A link to mail again, or None when one was mailed again in the last five minutes."""
    if not await store.claim_resend(tx, developer_id, RESEND_PAUSE_MINUTES):
        return None
    return await new_link(tx, developer_id, base_url)


async def mail_link(mail: Mailbox, *, to: str, name: str, link: str) -> None:
    """Mail the link, after commit. A mail server out of reach is logged: a later login has the link mailed again."""
    text = LETTER.format(name=name, hours=LINK_HOURS, link=link)
    try:
        await mail.send(to=to, subject="Confirm your e-mail address", text=text)
    except (OSError, aiosmtplib.SMTPException) as trouble:
        _log.warning("verification mail not taken", trouble=type(trouble).__name__)
