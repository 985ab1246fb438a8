"""`hansa db rebase`: a physical copy of the database, recovered to a moment, becomes a registry that can be served.

- Transaction ids of the copy are assigned a second time. Positions begin above all that were ever returned, so that readers of
  the journal and peers miss nothing.
- Nothing that waited is sent: the registry may have sent it after that moment.
- The time that this takes does not depend on the size of the database.
- Refused while a process of the registry is connected. One that starts meanwhile waits before its first position.
"""

import asyncpg
import msgspec

from hansa.doors.database_backup import withhold_messages
from hansa.doors.startup import (
    bring_up_to_date,
    open_database,
    require_data_directory,
    require_own_database,
)
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage import backup
from hansa.foundation.plumbing.storage.connection import has_other_sessions
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.migrate import has_schema
from hansa.foundation.plumbing.storage.positions import hold_off_starts, renew_positions
from hansa.foundation.plumbing.web.admin_acts import record_operator_act
from hansa.foundation.values.errors import Conflict, Unavailable
from hansa.rooms import catalogue, journal


class Rebased(msgspec.Struct, frozen=True):
    """Newest event of the copy, its first position, and the messages that it does not send."""

    registry_name: str
    journal_sequence: int
    first_position: int
    mails_withheld: int
    deliveries_withheld: int


async def rebase(settings: Settings) -> Rebased:
    """Let the database, a recovered copy of this registry's, be served.

    Raises: Conflict while a process is connected, DatabaseOfAnother, Refused, BadKey, and the errors of opening the database.
    """
    require_data_directory(settings)
    async with open_database(settings) as dsn:
        await require_own_database(settings, dsn)
        if not await has_schema(dsn):
            raise Unavailable("The database contains no registry; nothing was changed.")
        await bring_up_to_date(dsn, settings.database_variable)
        async with backup.connect(dsn) as connection:
            try:
                async with connection.transaction():
                    return await _rebase(connection, settings.registry_name)
            except asyncpg.LockNotAvailableError as error:
                raise _served() from error


async def _rebase(tx: Tx, registry_name: str) -> Rebased:
    await hold_off_starts(tx)
    if await has_other_sessions(tx):
        raise _served()
    newest = max(await journal.newest_position(tx), await catalogue.newest_position(tx))
    first = await renew_positions(tx, newest)
    sequence = await journal.newest_sequence(tx)
    mails, deliveries = await withhold_messages(tx)
    await record_operator_act(
        tx, act="registry.rebase", subject=registry_name, reason=f"copy up to journal sequence {sequence}"
    )
    return Rebased(registry_name, sequence, first, mails, deliveries)


def _served() -> Conflict:
    return Conflict(
        "The registry runs on this database: stop every process of it, on every machine, before the copy is rebased."
    )
