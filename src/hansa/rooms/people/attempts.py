"""How often anybody may try the password of one account, wherever they come from."""

from hansa.foundation.plumbing.storage.database import Database
from hansa.foundation.plumbing.web.caller import Developer
from hansa.foundation.plumbing.web.limits import Limit, admit
from hansa.foundation.values.secrets import fingerprint

from . import passwords, store
from .errors import WrongPassword

PER_ACCOUNT = Limit("login-account", 10)


async def admit_attempt(database: Database, email: str) -> None:
    """Count one try of the account of that address, known or not. Raises: TooManyRequests."""
    await admit(database, PER_ACCOUNT, account_key(email))


async def prove_password(database: Database, developer: Developer, password: str) -> str:
    """The hash that the password was right for; whoever changes something on the strength of it names it again.

    Raises: WrongPassword, TooManyRequests, TooManyPasswords.
    """
    await admit_attempt(database, developer.email)
    password_hash = await database.read(lambda tx: store.password_hash_of(tx, developer.id))
    if not await passwords.matches(password, password_hash):
        raise WrongPassword
    return password_hash


def account_key(email: str) -> str:
    """Return the key under which the attempts on one account count; the address itself is not kept for it."""
    return fingerprint(email.lower()).hex()
