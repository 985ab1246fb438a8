"""Login: who holds the right password, and the right code where two factors are asked for, gets a session."""

from dataclasses import dataclass, field

from hansa.foundation.plumbing.database import Tx
from hansa.foundation.plumbing.seal import Seal

from . import partial_login, passwords, store, two_factor
from .errors import WrongCredentials
from .sessions import Client, OpenSession, continue_session


@dataclass(frozen=True)
class PartialLogin:
    """The password was right; the token waits for a code."""

    partial_token: str = field(repr=False)


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
    tx: Tx, seal: Seal, account: store.Account, code: str | None, client: Client
) -> OpenSession | PartialLogin | None:
    """Open a session, or half of one where a code is still to come.

    None when the code is wrong: the caller refuses after the commit, because the try counts.

    Raises: WrongCredentials when the password was changed since it was looked at, CodesPaused.
    """
    if not await store.hold_password(tx, account.id, account.password_hash):
        raise WrongCredentials
    if await two_factor.is_on(tx, account.id):
        if not code:
            return PartialLogin(await partial_login.begin(tx, account.id))
        if not await two_factor.take_code(tx, seal, account.id, code):
            return None
    return await continue_session(tx, await store.open_session(tx, account.id, client.name, client.address))


async def complete(tx: Tx, seal: Seal, partial_token: str, code: str, client: Client) -> OpenSession | None:
    """Open the session of a login that waited for its code.

    None when the token is good no more or the code is wrong: the caller refuses after the commit, because the try counts.

    Raises: CodesPaused.
    """
    developer_id = await partial_login.count_try(tx, partial_token)
    if developer_id is None or not await two_factor.take_code(tx, seal, developer_id, code):
        return None
    await partial_login.burn(tx, partial_token)
    return await continue_session(tx, await store.open_session(tx, developer_id, client.name, client.address))
