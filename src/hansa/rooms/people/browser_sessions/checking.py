"""Check of the token of a browser session: its developer, and its end."""

from datetime import datetime, timedelta
from uuid import UUID

import msgspec

from hansa.foundation.plumbing.storage.database import Database
from hansa.foundation.plumbing.web.caller import Developer
from hansa.foundation.values.secrets import fingerprint

from . import store

PROOF_MINUTES = 10
CONTINUED_EVERY_SECONDS = 60


class BrowserSession(msgspec.Struct, frozen=True):
    """An open session of a browser. `now` is the database's time, `proved_at` when the password was last given."""

    id: UUID
    developer: Developer
    now: datetime
    proved_at: datetime

    @property
    def is_proved_recently(self) -> bool:
        """True when the password was given in the last ten minutes."""
        return self.now - self.proved_at < timedelta(minutes=PROOF_MINUTES)


async def check_browser_session(database: Database, token: str) -> BrowserSession | None:
    """The session with this token, whose idle time begins again; None when it has ended or there is none.

    The idle time is written once a minute at most, so that reading pages mostly writes nothing.
    """
    token_hash = fingerprint(token)
    found = await database.query(lambda tx: store.browser_session(tx, token_hash))
    if found is None:
        return None
    if found.now - found.continued_at > timedelta(seconds=CONTINUED_EVERY_SECONDS):
        await database.execute(lambda tx: store.continue_browser_session(tx, found.id))
    return BrowserSession(found.id, found.developer, found.now, found.proved_at)
