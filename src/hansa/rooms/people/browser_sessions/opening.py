"""Open a browser session by a login, and give the password again within it.

Check of the token of a browser session: its developer, and its end.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec

from hansa.foundation.plumbing.keys.seal import Seal
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.foundation.plumbing.storage.page_facts import Facts, PageFact
from hansa.foundation.plumbing.web.caller import Developer
from hansa.foundation.values.secrets import fingerprint, new_hex
from hansa.rooms.people import login
from hansa.rooms.people.errors import PartialTokenRefused, WrongPassword
from hansa.rooms.people.passwords import prove_password
from hansa.rooms.people.phones import PasskeyRefused
from hansa.rooms.people.sessions import Client

from . import store

TOKEN_PREFIX = "hbs_"  # noqa: S105
PROOF_MINUTES = 10
CONTINUED_EVERY_SECONDS = 60


@dataclass(frozen=True)
class OpenBrowserSession:
    """A session with the token for its cookie, which is shown once."""

    token: str = field(repr=False)


async def log_in_browser(
    database: Database,
    seal: Seal,
    settings: Settings,
    *,
    email: str,
    password: str,
    client: Client,
) -> OpenBrowserSession | login.PartialLogin:
    """Open a session, or the half of a login that waits for a code or for a phone, which is asked.

    Raises: WrongCredentials, EmailUnverified, TooManyRequests, TooManyPasswords, CodesPaused.
    """
    account = await login.admit(database, seal, settings, username=email, password=password)
    opening = _opening_for(client)
    opened = await database.transaction(
        lambda tx: login.log_in(tx, seal, account, None, opening, browser=client)
    )
    assert opened is not None
    return opened


async def finish_browser_login(
    database: Database, seal: Seal, *, partial_token: str, code: str, client: Client
) -> OpenBrowserSession:
    """Open the session of a login that waited for its code. Raises: PartialTokenRefused, CodesPaused."""
    opening = _opening_for(client)
    opened = await database.transaction(lambda tx: login.complete(tx, seal, partial_token, code, opening))
    if opened is None:
        raise PartialTokenRefused
    return opened


async def finish_login_by_phone(
    database: Database, *, partial_token: str, client: Client
) -> OpenBrowserSession | None:
    """Open the session of a login that a phone approved; None while none has."""
    opening = _opening_for(client)
    return await database.transaction(lambda tx: login.complete_by_phone(tx, partial_token, opening))


async def finish_login_by_passkey(
    database: Database,
    settings: Settings,
    *,
    partial_token: str,
    assertion: dict[str, Any],
    client: Client,
) -> OpenBrowserSession:
    """Open the session of a login in a browser with a passkey of the account. Raises: PasskeyRefused, PasskeysUnavailable."""
    opening = _opening_for(client)
    opened = await database.transaction(
        lambda tx: login.complete_by_passkey(tx, settings, partial_token, assertion, opening)
    )
    if opened is None:
        raise PasskeyRefused
    return opened


async def confirm_password(database: Database, developer: Developer, session_id: UUID, password: str) -> None:
    """Note that the password was given again in this session.

    Raises: WrongPassword, also when the password was changed or the session ended meanwhile, TooManyRequests,
    TooManyPasswords.
    """
    password_hash = await prove_password(database, developer, password)
    if not await database.transaction(
        lambda tx: store.note_proof(tx, developer.id, session_id, password_hash)
    ):
        raise WrongPassword


def _opening_for(client: Client) -> login.Open[OpenBrowserSession]:
    async def open_session(tx: Tx, developer_id: int, /, *, gave_code: bool) -> OpenBrowserSession:
        token = new_hex(TOKEN_PREFIX)
        await store.open_browser_session(
            tx, developer_id, fingerprint(token), client.name, client.address, gave_code=gave_code
        )
        return OpenBrowserSession(token)

    return open_session


class BrowserSession(msgspec.Struct, frozen=True):
    """An open session of a browser. `now` is the database's time, `proved_at` when the password was last given; `facts` as they were asked for."""

    id: UUID
    developer: Developer
    now: datetime
    proved_at: datetime
    facts: Facts

    @property
    def is_proved_recently(self) -> bool:
        """True when the password was given in the last ten minutes."""
        return self.now - self.proved_at < timedelta(minutes=PROOF_MINUTES)


async def check_browser_session(
    database: Database, token: str, facts: Mapping[str, PageFact] | None = None
) -> BrowserSession | None:
    """The session with this token, whose idle time begins again, with facts of its person; None when it has ended or there is none.

    The idle time is written once a minute at most, so that reading pages mostly writes nothing.
    """
    token_hash = fingerprint(token)
    found = await database.query(lambda tx: store.browser_session(tx, token_hash, facts or {}))
    if found is None:
        return None
    if found.now - found.continued_at > timedelta(seconds=CONTINUED_EVERY_SECONDS):
        await database.execute(lambda tx: store.continue_browser_session(tx, found.id))
    return BrowserSession(found.id, found.developer, found.now, found.proved_at, found.facts)
