"""Carry out the deletions whose cooling-off is over: close the account with all it owns, then erase the person.

Each step is a transaction of a sweep, so that a crash between them repeats nothing and leaves nothing out. A blocker puts a
deletion off and holds up no other.

Check that an account has not ended, for rooms that make something on its behalf.

A person asks for the deletion of the own account, takes it back, and reads its state.
"""

from collections.abc import Sequence

import msgspec
import structlog
from msgspec.structs import asdict

from hansa.foundation.plumbing.jobs.mail_queue import delete_mails_to
from hansa.foundation.plumbing.keys.seal import Seal
from hansa.foundation.plumbing.room import AccountEnds, Blocker
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.joined_reads import read_together
from hansa.foundation.plumbing.web.admin_acts import bar_author
from hansa.foundation.plumbing.web.caller import Developer
from hansa.foundation.values.errors import Conflict
from hansa.rooms.people import mails, oauth
from hansa.rooms.people import store as people_store

from . import store
from .errors import DeletionBlocked, DeletionNotRequested

AT_ONCE = 20
PUT_OFF_MINUTES = 60
# Whatever the account had under way when it was closed has ended by then: no statement runs as long.
PAUSE_MINUTES = 2
_log = structlog.get_logger()


async def carry_out_due(tx: Tx, account_end: AccountEnds) -> None:
    """One step of each deletion that is due."""
    for deletion in await store.lock_due(tx, AT_ONCE):
        if deletion.status == "processing":
            await _erase(tx, deletion, account_end)
        else:
            await _close(tx, deletion, account_end)


async def _close(tx: Tx, deletion: store.Deletion, account_end: AccountEnds) -> None:
    try:
        async with tx.transaction():
            # The account first: from here on nothing new is made for it that the next line would not see.
            await store.close_account(tx, deletion.developer_id)
            await bar_author(tx, deletion.developer_id)
            await oauth.end_grants_of(tx, deletion.developer_id, "account_deleted")
            await account_end.end(tx, deletion.developer_id)
            await store.begin_processing(tx, deletion.developer_id, PAUSE_MINUTES)
    except Conflict as obstacle:
        _log.info("deletion postponed", developer=deletion.developer_id, reason=obstacle.code)
        await store.put_off(tx, deletion.developer_id, PUT_OFF_MINUTES)


async def _erase(tx: Tx, deletion: store.Deletion, account_end: AccountEnds) -> None:
    profile = await people_store.profile_of(tx, deletion.developer_id)
    await delete_mails_to(tx, profile.email)
    await account_end.erase(tx, deletion.developer_id)
    await oauth.erase(tx, deletion.developer_id)
    await store.erase_person(tx, deletion.developer_id)
    await store.end_processing(tx, deletion.developer_id)


async def is_account_closed(tx: Tx, developer_id: int) -> bool:
    """Return whether nothing may be made for the developer any more; no account is closed before this transaction ends."""
    return await store.share_closed(tx, developer_id)


class DeletionStatus(msgspec.Struct, frozen=True):
    """Status of the deletion of an account, and its present blockers."""

    deletion: store.Deletion | None
    blockers: Sequence[Blocker]


async def request_deletion(
    tx: Tx, seal: Seal, developer: Developer, account_end: AccountEnds, *, cooling_off_days: int
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


async def deletion_status_of(tx: Tx, developer: Developer, account_end: AccountEnds) -> DeletionStatus:
    """How it stands with the developer's own account."""
    return DeletionStatus(
        *await read_together(
            tx,
            lambda tx: store.deletion_of(tx, developer.id),
            lambda tx: account_end.blockers(tx, developer.id),
        )
    )
