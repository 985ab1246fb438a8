"""Acts of the API and the web pages on passwords: first the steps without a transaction, then the use case in one."""

from hansa.foundation.plumbing.keys.seal import Seal
from hansa.foundation.plumbing.storage.database import Database
from hansa.foundation.plumbing.web.caller import Developer, PasswordSetter
from hansa.foundation.plumbing.web.limits import Limit, admit
from hansa.rooms.people import passwords, rules
from hansa.rooms.people.attempts import account_key, prove_password

from . import new_password
from .forgotten import note_forgotten
from .schemas import ChangePasswordIn, SetPasswordIn

FORGOTTEN_PER_ACCOUNT = Limit("forgotten-account", 3, 3600)
RECOVERIES_PER_ACCOUNT = Limit("recovery-account", 10)


async def change_own_password(
    database: Database, seal: Seal, developer: Developer, body: ChangePasswordIn
) -> None:
    """Change the password with the current one.

    Raises: PasswordRefused, WrongPassword, TooManyRequests, TooManyPasswords.
    """
    rules.require_acceptable_password(body.new_password, field="new_password")
    old_hash = await prove_password(database, developer, body.current_password)
    new_hash = await passwords.hashed(body.new_password)
    await database.transaction(
        lambda tx: new_password.change_password(tx, seal, developer, old_hash, new_hash)
    )


async def set_forgotten_password(
    database: Database, seal: Seal, setter: PasswordSetter, body: SetPasswordIn
) -> None:
    """Set a password by a grant. Raises: Unauthorized, PasswordRefused, TooManyPasswords."""
    rules.require_acceptable_password(body.new_password, field="new_password")
    new_hash = await passwords.hashed(body.new_password)
    await database.transaction(lambda tx: new_password.set_password(tx, seal, setter, new_hash))


async def forget_password(database: Database, email: str) -> None:
    """Mail a link to the account with this address, if there is one. Raises: TooManyRequests."""
    await admit(database, FORGOTTEN_PER_ACCOUNT, account_key(email))
    await database.transaction(lambda tx: note_forgotten(tx, email))


async def admit_recovery(database: Database, email: str) -> None:
    """Count one try of a recovery key of this address. Raises: TooManyRequests."""
    await admit(database, RECOVERIES_PER_ACCOUNT, account_key(email))
