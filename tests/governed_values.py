"""Changes of governed settings that tests need not wait for."""

import asyncio
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from hansa.foundation.plumbing import parameters
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.clock import now
from hansa.foundation.plumbing.storage.database import Database, Tx

LONGER_THAN_A_LEAD = timedelta(seconds=61)
Changes = Mapping[str, tuple[Any, Any]]
_MOVE = """
UPDATE plumbing_parameter SET scheduled_at = scheduled_at - $1::interval, effective_at = effective_at - $1::interval,
  withdrawn_at = withdrawn_at - $1::interval
"""


async def scheduled(
    database: Database, settings: Settings, changes: Changes, by: str, at: datetime | None = None
) -> datetime:
    """Decide on changes from a value to another, which take effect at a moment or as soon as they can; returns the moment."""
    diff = parameters.diff_of({name: {"from": old, "to": new} for name, (old, new) in changes.items()})

    async def act(tx: Tx) -> datetime:
        return await parameters.schedule(tx, settings, diff, at or await now(tx), by)

    return await database.transaction(act)


async def time_passed(database: Database, time: timedelta = LONGER_THAN_A_LEAD) -> None:
    """Let every decision so far have been made so much earlier. A process that follows the changes has to read them anew."""
    await database.transaction(lambda tx: tx.execute(_MOVE, time))


async def changed(
    database: Database, settings: Settings, changes: Changes, by: str = "proposal:1"
) -> datetime:
    """Change settings; the new values are in force for every transaction that begins from now on. Returns the moment."""
    moment = await scheduled(database, settings, changes, by)
    ahead = moment - await database.query(now)
    await time_passed(database, ahead)
    return moment - ahead


async def reached(database: Database, moment: datetime) -> None:
    """Wait until this moment has passed by the clock of the database."""
    while await database.query(now) <= moment:  # noqa: ASYNC110
        await asyncio.sleep(0.02)


async def shorten_lead(database: Database, seconds: float) -> None:
    """Let changes take effect so soon after their decision, instead of a minute: for a database that no other test uses.

    Before a process of the registry reads its knowledge, which counts on the lead that it found.
    """
    await database.transaction(
        lambda tx: tx.execute(
            "CREATE OR REPLACE FUNCTION plumbing_parameter_lead() RETURNS interval LANGUAGE sql STABLE AS"
            f" $$ SELECT {float(seconds)} * interval '1 second' $$"
        )
    )
