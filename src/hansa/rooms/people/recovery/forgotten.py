"""Forgotten passwords: a link is mailed to whoever has an account.

The request writes down the address and looks nothing up, so that nobody learns from its answer, or from how long it
takes, whether there is an account. A moment later the background does.
"""

from hansa.foundation.plumbing.database import Tx
from hansa.foundation.plumbing.post import write_letter
from hansa.foundation.plumbing.runtime import Runtime
from hansa.rooms.people import letters

from . import store
from .grants import grant

LINK_MINUTES = 60
PAUSE_MINUTES = 5
TAKEN_AT_ONCE = 20


async def note_forgotten(tx: Tx, email: str) -> None:
    """Whoever has this address, if anybody, has forgotten the password."""
    await store.remember_forgotten(tx, email)


async def leave_forgotten_unanswered(tx: Tx) -> None:
    """Write to none of the addresses that were noted."""
    await store.forget_all(tx)


async def answer_forgotten_passwords(runtime: Runtime) -> None:
    """Write to the owners of the addresses that were noted."""
    while await runtime.database.act(lambda tx: _answer_some(tx, runtime)):
        pass


async def _answer_some(tx: Tx, runtime: Runtime) -> int:
    emails = await store.take_forgotten(tx, TAKEN_AT_ONCE)
    # In one order, so that two processes that meet the same owners do not wait for each other in a circle.
    for email in sorted({email.lower() for email in emails}):
        person = await store.claim_reset_mail(tx, email, PAUSE_MINUTES)
        if person is not None:
            token = await grant(tx, runtime.tokens, person.id, LINK_MINUTES * 60)
            # Behind the # it stays in the browser: no server, proxy or log on the way sees it.
            link = f"{runtime.settings.base_url}/set-password#token={token}"
            letter = letters.new_password(to=person.email, name=person.name, link=link, minutes=LINK_MINUTES)
            await write_letter(tx, runtime.seal, letter)
    return len(emails)
