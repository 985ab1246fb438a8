"""Login: who holds the right password, and the right code where two factors are asked for, gets a session."""

from collections.abc import Awaitable
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from hansa.foundation.plumbing.keys.seal import Seal
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Database, Tx

from . import partial_login, passwords, store, two_factor, verify_email
from .errors import EmailUnverified, WrongCredentials
from .passwords import admit_attempt

Opened_co = TypeVar("Opened_co", covariant=True)


class Open(Protocol[Opened_co]):
    """Opens a session of this developer; `gave_code`: the login gave a code of two-factor login."""

    def __call__(self, tx: Tx, developer_id: int, /, *, gave_code: bool) -> Awaitable[Opened_co]: ...


@dataclass(frozen=True)
class PartialLogin:
    """The password was right; the token waits for a code."""

    partial_token: str = field(repr=False)


async def admit(
    database: Database, seal: Seal, settings: Settings, *, username: str, password: str
) -> store.Account:
    """The account with this e-mail address and password. Where the address is to be verified first, a link is mailed.

    Raises: WrongCredentials, EmailUnverified, TooManyRequests, TooManyPasswords.
    """
    await admit_attempt(database, username)
    found = await database.read(lambda tx: find_account(tx, username))
    account = await require_right_password(found, password)
    if settings.email_verification_required and not account.is_verified:
        await database.transaction(
            lambda tx: verify_email.mail_link_if_due(tx, seal, account, settings.base_url)
        )
        raise EmailUnverified
    return account


async def find_account(tx: Tx, username: str) -> store.Account | None:
    """The account that the username, an e-mail address, names."""
    return await store.account_of(tx, username)


async def require_right_password(account: store.Account | None, password: str) -> store.Account:
    """The account, when the password is its own; needs no transaction and takes as long without an account.

    Raises: WrongCredentials, TooManyPasswords.
    """
    password_hash = account.password_hash if account else passwords.NOBODYS_HASH
    right = await passwords.matches(password, password_hash)
    if account is None or not right:
        raise WrongCredentials
    return account


async def log_in(
    tx: Tx, seal: Seal, account: store.Account, code: str | None, open_session: Open[Opened_co]
) -> Opened_co | PartialLogin | None:
    """Open a session, or half of one where a code is still to come.

    None when the code is wrong: the caller refuses after the commit, because the try counts.

    Raises: WrongCredentials when the password was changed since it was looked at, CodesPaused.
    """
    if not await store.hold_password(tx, account.id, account.password_hash):
        raise WrongCredentials
    asks_code = await two_factor.is_on(tx, account.id)
    if asks_code:
        if not code:
            return PartialLogin(await partial_login.begin(tx, account.id))
        if not await two_factor.take_code(tx, seal, account.id, code):
            return None
    return await open_session(tx, account.id, gave_code=asks_code)


async def complete(
    tx: Tx, seal: Seal, partial_token: str, code: str, open_session: Open[Opened_co]
) -> Opened_co | None:
    """Open the session of a login that waited for its code.

    None when the token is good no more or the code is wrong: the caller refuses after the commit, because the try counts.

    Raises: CodesPaused.
    """
    developer_id = await partial_login.count_try(tx, partial_token)
    if developer_id is None or not await two_factor.take_code(tx, seal, developer_id, code):
        return None
    await partial_login.burn(tx, partial_token)
    return await open_session(tx, developer_id, gave_code=True)
