"""Turn two-factor login off with a recovery key: the app is gone, and the backup codes with it."""

from hansa.foundation.plumbing.keys.seal import Seal
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Developer
from hansa.foundation.values.errors import Unauthorized
from hansa.rooms.people import partial_login, recovery_keys

from .setup import turn_off_without_code


async def recover(
    tx: Tx, seal: Seal, developer: Developer | None, partial_token: str | None, recovery_key: str
) -> bool:
    """Turn it off for the developer, or for whoever began a login; False, to be committed, when the key is wrong.

    Raises: Unauthorized when nobody is named, TwoFactorOff.
    """
    developer_id = developer.id if developer else await _who_began(tx, partial_token)
    if not await recovery_keys.burn(tx, developer_id, recovery_key):
        return False
    await turn_off_without_code(tx, seal, developer_id)
    if partial_token:
        await partial_login.burn(tx, partial_token)
    return True


async def _who_began(tx: Tx, partial_token: str | None) -> int:
    developer_id = await partial_login.count_try(tx, partial_token) if partial_token else None
    if developer_id is None:
        raise Unauthorized
    return developer_id
