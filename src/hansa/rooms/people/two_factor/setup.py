"""Turn two-factor login on and off.

Set up twice before the first code, the later seed counts. Nothing is asked of the app's clock: the database's decides.
"""

import io
from dataclasses import dataclass, field

import pyotp

from hansa.foundation.plumbing.keys.seal import Seal
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Developer
from hansa.foundation.values.secrets import fingerprint, new_hex
from hansa.rooms.people import mails

from . import codes, rules, store
from .errors import TwoFactorNotSetUp, TwoFactorOff, TwoFactorOn


@dataclass(frozen=True)
class NewApp:
    """Setup of an authenticator app, shown once."""

    seed: str = field(repr=False)
    otpauth_uri: str = field(repr=False)

    def qr_svg(self) -> str:
        """The address as a picture, to be put in a page as it is."""
        import segno

        picture = io.BytesIO()
        segno.make(self.otpauth_uri, micro=False).save(picture, kind="svg", scale=4, xmldecl=False, nl=False)
        return picture.getvalue().decode()


async def begin_setup(tx: Tx, seal: Seal, developer: Developer, registry_name: str) -> NewApp:
    """A seed for the developer's app; nothing changes for the login yet. Raises: TwoFactorOn."""
    seed = pyotp.random_base32()
    if not await store.keep_seed(tx, developer.id, codes.close_seed(seal, developer.id, seed)):
        raise TwoFactorOn
    return NewApp(seed, rules.otpauth_uri(seed, account=developer.email, registry=registry_name))


async def turn_on(tx: Tx, seal: Seal, developer: Developer, code: str) -> list[str] | None:
    """Turn it on with the app's first code, and return the backup codes, shown once.

    None when the code is wrong; the caller commits that it was tried and refuses then.

    Raises: TwoFactorNotSetUp, TwoFactorOn, CodesPaused.
    """
    factor = await store.lock_second_factor(tx, developer.id)
    if factor is None:
        raise TwoFactorNotSetUp
    if factor.is_on:
        raise TwoFactorOn
    if not await codes.evaluate(tx, seal, developer.id, factor, rules.plain(code)):
        return None
    backup_codes = [_new_backup_code() for _ in range(rules.BACKUP_CODES)]
    await store.turn_on(tx, developer.id, [fingerprint(rules.plain(code)) for code in backup_codes])
    return backup_codes


async def turn_off(tx: Tx, seal: Seal, developer: Developer, code: str) -> bool:
    """Turn it off with a code; False when the code is wrong, which the caller commits and refuses then.

    Raises: TwoFactorOff, CodesPaused.
    """
    if not await store.is_on(tx, developer.id):
        raise TwoFactorOff
    if not await codes.take_code(tx, seal, developer.id, code):
        return False
    await _end(tx, seal, developer.id)
    return True


async def turn_off_without_code(tx: Tx, seal: Seal, developer_id: int) -> None:
    """Turn it off for somebody who proved otherwise who they are. Raises: TwoFactorOff."""
    if not await store.is_on(tx, developer_id):
        raise TwoFactorOff
    await _end(tx, seal, developer_id)


async def _end(tx: Tx, seal: Seal, developer_id: int) -> None:
    await store.forget(tx, developer_id)
    await mails.notify(tx, seal, developer_id, mails.two_factor_ended)


def _new_backup_code() -> str:
    return "-".join(new_hex("", rules.BACKUP_CODE_GROUP_DIGITS) for _ in range(rules.BACKUP_CODE_GROUPS))
