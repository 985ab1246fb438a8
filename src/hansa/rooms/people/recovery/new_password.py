"""Change or set a password. Whoever was logged in is so no more, and no other right to set it is left; API keys stay."""

from hansa.foundation.plumbing.keys.seal import Seal
from hansa.foundation.plumbing.keys.tokens import TokenIssuer
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Developer, PasswordSetter
from hansa.foundation.values.errors import Unauthorized
from hansa.rooms.people import mails, oauth, recovery_keys, sessions
from hansa.rooms.people.errors import RecoveryRefused, WrongPassword

from . import store
from .grants import grant

RECOVERY_SECONDS = 300


async def change_password(tx: Tx, seal: Seal, developer: Developer, old_hash: str, new_hash: str) -> None:
    """Change the password of which `old_hash` was proved. Raises: WrongPassword when it was changed meanwhile."""
    if not await store.change_password(tx, developer.id, old_hash, new_hash):
        raise WrongPassword
    await _end_what_the_old_one_opened(tx, seal, developer.id)


async def set_password(tx: Tx, seal: Seal, setter: PasswordSetter, new_hash: str) -> None:
    """Set the password by a grant. Raises: Unauthorized when the grant was used meanwhile."""
    await store.lock_developer(tx, setter.developer_id)
    if not await store.burn_grant(tx, setter.grant):
        raise Unauthorized
    await store.set_password(tx, setter.developer_id, new_hash)
    await _end_what_the_old_one_opened(tx, seal, setter.developer_id)


async def recover_account(tx: Tx, seal: Seal, tokens: TokenIssuer, email: str, recovery_key: str) -> str:
    """The token that sets the password of who has this address and recovery key. Raises: RecoveryRefused."""
    developer_id = await recovery_keys.burn_of_address(tx, email, recovery_key)
    if developer_id is None:
        raise RecoveryRefused
    await mails.notify(tx, seal, developer_id, mails.recovery_key_used)
    return await grant(tx, tokens, developer_id, RECOVERY_SECONDS)


async def _end_what_the_old_one_opened(tx: Tx, seal: Seal, developer_id: int) -> None:
    await sessions.end_all(tx, developer_id)
    await oauth.end_grants_of(tx, developer_id, "password_changed")
    await store.burn_grants(tx, developer_id)
    await mails.notify(tx, seal, developer_id, mails.password_changed)
