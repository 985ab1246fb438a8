"""End of a child: it begins with the loss of its roles, and is complete when the agent is revoked."""

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import Minor
from hansa.rooms.agents.spending import put_policy

from . import store
from .rules import PAYS_NOBODY, Cause


async def begin_end(tx: Tx, did: str, cause: Cause) -> bool:
    """Let a locked child begin to end: it has no roles and pays nobody from now on. False when it has begun before."""
    if not await store.begin_end(tx, did, cause):
        return False
    await store.write_roles(tx, did, ())
    await put_policy(tx, did, PAYS_NOBODY)
    return True


async def first_due(tx: Tx) -> str | None:
    """The child whose end has been due longest; takes no lock."""
    return await store.first_due(tx)


async def put_end_off(tx: Tx, did: str) -> None:
    """Let the end of a child be tried again after a while, which grows with the time that it waits."""
    await store.put_off(tx, did)


async def note_swept(tx: Tx, did: str, amount: Minor) -> None:
    """Note the units of a child that went to its parent in the commit of its end."""
    await store.note_swept(tx, did, amount)
