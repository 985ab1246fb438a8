"""Verification of an e-mail address: a link is mailed, and its first visit verifies.

A link is good for a day. Visited again, it says that the address is verified already; it logs nobody in.
"""

from hansa.foundation.plumbing.jobs.mail_queue import enqueue_mail
from hansa.foundation.plumbing.keys.seal import Seal
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.secrets import fingerprint, new_hex

from . import mails, store
from .errors import VerificationLinkInvalid

LINK_HOURS = 24
RESEND_PAUSE_MINUTES = 5


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


async def mail_link(tx: Tx, seal: Seal, developer_id: int, *, to: str, name: str, base_url: str) -> None:
    """Send a mail with a link; earlier links of the account stay good."""
    token = new_hex("evt_")
    await store.add_verification_link(tx, developer_id, fingerprint(token), LINK_HOURS)
    link = f"{base_url}/verify-email?token={token}"
    await enqueue_mail(tx, seal, mails.verification(to=to, name=name, link=link, hours=LINK_HOURS))


async def mail_link_if_due(tx: Tx, seal: Seal, account: store.Account, base_url: str) -> None:
    """Mail a link again, unless one was mailed in the last five minutes."""
    if await store.claim_resend(tx, account.id, RESEND_PAUSE_MINUTES):
        await mail_link(tx, seal, account.id, to=account.email, name=account.name, base_url=base_url)
