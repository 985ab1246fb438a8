"""Carry out the deletions whose cooling-off is over: close the account with all it owns, then erase the person.

Each step is a transaction of a sweep, so that a crash between them repeats nothing and leaves nothing out. A blocker puts a
deletion off and holds up no other.
"""

import structlog

from hansa.foundation.plumbing.jobs.mail_queue import delete_mails_to
from hansa.foundation.plumbing.room import AccountEnd
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.admin_acts import bar_author
from hansa.foundation.values.errors import Conflict
from hansa.rooms.people import oauth
from hansa.rooms.people import store as people_store

from . import store

AT_ONCE = 20
PUT_OFF_MINUTES = 60
# Whatever the account had under way when it was closed has ended by then: no statement runs as long.
PAUSE_MINUTES = 2

_log = structlog.get_logger()


async def carry_out_due(tx: Tx, account_end: AccountEnd) -> None:
    """One step of each deletion that is due."""
    for deletion in await store.lock_due(tx, AT_ONCE):
        if deletion.status == "processing":
            await _erase(tx, deletion, account_end)
        else:
            await _close(tx, deletion, account_end)


async def _close(tx: Tx, deletion: store.Deletion, account_end: AccountEnd) -> None:
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


async def _erase(tx: Tx, deletion: store.Deletion, account_end: AccountEnd) -> None:
    profile = await people_store.profile_of(tx, deletion.developer_id)
    await delete_mails_to(tx, profile.email)
    await account_end.erase(tx, deletion.developer_id)
    await oauth.erase(tx, deletion.developer_id)
    await store.erase_person(tx, deletion.developer_id)
    await store.end_processing(tx, deletion.developer_id)
