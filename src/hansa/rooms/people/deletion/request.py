"""Ask for the deletion of one's own account, take it back, look how it stands."""

from collections.abc import Sequence

import msgspec
from msgspec.structs import asdict

from hansa.foundation.plumbing.keys.seal import Seal
from hansa.foundation.plumbing.room import AccountEnd, Blocker
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Developer
from hansa.rooms.people import mails

from . import store
from .errors import DeletionBlocked, DeletionNotRequested


class DeletionStatus(msgspec.Struct, frozen=True):
    """Status of the deletion of an account, and its present blockers."""

    deletion: store.Deletion | None
    blockers: Sequence[Blocker]


async def request_deletion(
    tx: Tx, seal: Seal, developer: Developer, account_end: AccountEnd, *, cooling_off_days: int
) -> DeletionStatus:
    """Delete the account after the cooling-off period; an e-mail says how to cancel. Sessions and API keys go on.

    A repeated request while a deletion waits changes nothing.

    Raises: DeletionBlocked.
    """
    if blockers := await account_end.blockers(tx, developer.id):
        blocking = [asdict(blocker) for blocker in blockers]
        raise DeletionBlocked(context={"blockers": blocking}, members={"blockers": blocking})
    requested = await store.request_deletion(tx, developer.id, cooling_off_days)
    if requested is None:
        return DeletionStatus(await store.deletion_of(tx, developer.id), [])
    await mails.notify(tx, seal, developer.id, mails.deletion_requested(requested.effective_at))
    return DeletionStatus(requested, [])


async def cancel_deletion(tx: Tx, developer: Developer) -> DeletionStatus:
    """Keep the account after all. Raises: DeletionNotRequested."""
    cancelled = await store.cancel_deletion(tx, developer.id)
    if cancelled is None:
        raise DeletionNotRequested
    return DeletionStatus(cancelled, [])


async def deletion_status_of(tx: Tx, developer: Developer, account_end: AccountEnd) -> DeletionStatus:
    """How it stands with the developer's own account."""
    return DeletionStatus(
        await store.deletion_of(tx, developer.id), await account_end.blockers(tx, developer.id)
    )
