"""Second factors as a whole: the authenticator app and the phones, turned off for a person who proved otherwise who they are."""

from hansa.foundation.plumbing.keys.seal import Seal
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Developer
from hansa.foundation.values.errors import Unauthorized

from . import mails, partial_login, phones, recovery_keys, two_factor


async def turn_off(tx: Tx, seal: Seal, developer_id: int) -> None:
    """Turn off the app and remove every phone. Raises: TwoFactorOff where there is neither."""
    had_app = await two_factor.forget_app(tx, developer_id)
    had_phones = await phones.forget_devices(tx, developer_id)
    if not (had_app or had_phones):
        raise two_factor.TwoFactorOff
    await mails.notify(tx, seal, developer_id, mails.two_factor_ended)


async def recover(
    tx: Tx, seal: Seal, developer: Developer | None, partial_token: str | None, recovery_key: str
) -> bool:
    """Turn them off for the developer, or for the person who began a login; False, to be committed, when the key is wrong.

    Raises: Unauthorized when nobody is named, TwoFactorOff.
    """
    developer_id = developer.id if developer else await _who_began(tx, partial_token)
    if not await recovery_keys.burn(tx, developer_id, recovery_key):
        return False
    await turn_off(tx, seal, developer_id)
    if partial_token:
        await partial_login.burn(tx, partial_token)
    return True


async def _who_began(tx: Tx, partial_token: str | None) -> int:
    developer_id = await partial_login.count_try(tx, partial_token) if partial_token else None
    if developer_id is None:
        raise Unauthorized
    return developer_id
