"""Forgotten passwords: a link is mailed to whoever has an account.

The request writes down the address and looks nothing up, so that nobody learns from its answer, or from how long it
takes, whether there is an account. A job looks it up when the request has ended.
"""

from hansa.foundation.plumbing.jobs import Job, TransactionalKind, enqueue
from hansa.foundation.plumbing.jobs.mail_queue import enqueue_mail
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms.people import mails

from . import store
from .grants import grant

LINK_MINUTES = 60
PAUSE_MINUTES = 5
KIND = "forgotten password"


async def note_forgotten(tx: Tx, email: str) -> None:
    """Note that the person with this address, if any, has forgotten the password, and enqueue the mail."""
    noted_id = await store.remember_forgotten(tx, email)
    await enqueue(tx, KIND, str(noted_id), {"id": noted_id})


async def drop_password_requests(tx: Tx) -> None:
    """Write to none of the addresses that were noted."""
    await store.forget_all(tx)


async def _answer(tx: Tx, runtime: Runtime, job: Job) -> None:
    """Write to the owner of the address that was noted, if it has one."""
    email = await store.take_forgotten(tx, job.payload["id"])
    person = None if email is None else await store.claim_reset_mail(tx, email, PAUSE_MINUTES)
    if person is None:
        return
    token = await grant(tx, runtime.tokens, person.id, LINK_MINUTES * 60)
    # Behind the # it stays in the browser: no server, proxy or log sees it.
    link = f"{runtime.settings.base_url}/set-password#token={token}"
    mail = mails.new_password(to=person.email, name=person.name, link=link, minutes=LINK_MINUTES)
    await enqueue_mail(tx, runtime.seal, mail)


FORGOTTEN_PASSWORDS = TransactionalKind(KIND, _answer, is_droppable=True)
"""The jobs that answer forgotten passwords, one for each request."""
