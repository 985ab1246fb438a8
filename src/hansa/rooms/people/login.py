"""Login: who holds the right password gets a session."""

from hansa.foundation.plumbing.database import Tx
from hansa.foundation.words.secrets import fingerprint

from . import passwords, store
from .errors import WrongCredentials
from .sessions import OpenSession, continue_session


async def find_account(tx: Tx, username: str) -> store.Account | None:
    """The account that the username, an e-mail address, names."""
    return await store.account_of(tx, username)


async def require_right_password(account: store.Account | None, password: str) -> store.Account:
    """The account, when the password is its own; needs no transaction and takes as long without an account.

    Raises: WrongCredentials.
    """
    password_hash = account.password_hash if account else passwords.NOBODYS_HASH
    right = await passwords.matches(password, password_hash)
    if account is None or not right:
        raise WrongCredentials
    return account


async def log_in(tx: Tx, account: store.Account) -> OpenSession:
    """Open a session."""
    return await continue_session(tx, await store.open_session(tx, account.id))


def account_key(username: str) -> str:
    """What counts the logins of one account, known or not; the address itself is not kept for it."""
    return fingerprint(username.lower()).hex()
