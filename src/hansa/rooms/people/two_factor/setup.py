"""Turn two-factor login on and off.

Set up twice before the first code, the later seed counts. Nothing is asked of the app's clock: the database's decides.

Take a code: once, whoever else shows it at the same moment.
"""

import io
from dataclasses import dataclass, field

import pyotp
import structlog

from hansa.foundation.plumbing.keys.seal import BadSeal, Seal, SealedColumn
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Developer
from hansa.foundation.values.secrets import fingerprint, new_hex
from hansa.rooms.people import mails

from . import rules, store
from .errors import CodesPaused, TwoFactorNotSetUp, TwoFactorOff, TwoFactorOn
from .store import SecondFactor

_log = structlog.get_logger()


QR_SCALE = 4


@dataclass(frozen=True)
class NewApp:
    """Setup of an authenticator app, shown once."""

    seed: str = field(repr=False)
    otpauth_uri: str = field(repr=False)

    def qr_svg(self) -> str:
        """The address as a picture, to be put in a page as it is."""
        return qr_svg(self.otpauth_uri)


def qr_svg(text: str) -> str:
    """A text as a QR code: an SVG element to be put in a page as it is. The text has at most 2000 bytes."""
    import segno

    picture, code = io.BytesIO(), segno.make(text, micro=False)
    code.save(picture, kind="svg", scale=QR_SCALE, xmldecl=False, nl=False)
    width, height = code.symbol_size(scale=QR_SCALE)
    # With it a narrow page shows the whole code smaller; without it, a part of the code.
    return picture.getvalue().decode().replace("<svg ", f'<svg viewBox="0 0 {width} {height}" ', 1)


async def begin_setup(tx: Tx, seal: Seal, developer: Developer, registry_name: str) -> NewApp:
    """A seed for the developer's app; nothing changes for the login yet. Raises: TwoFactorOn."""
    seed = pyotp.random_base32()
    if not await store.keep_seed(tx, developer.id, close_seed(seal, developer.id, seed)):
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
    if not await evaluate(tx, seal, developer.id, factor, rules.plain(code)):
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
    if not await take_code(tx, seal, developer.id, code):
        return False
    await store.forget(tx, developer.id)
    await mails.notify(tx, seal, developer.id, mails.app_ended)
    return True


async def forget_app(tx: Tx, developer_id: int) -> bool:
    """Turn it off without a code and without a mail; return whether it was on."""
    if not await store.is_on(tx, developer_id):
        return False
    await store.forget(tx, developer_id)
    return True


def _new_backup_code() -> str:
    return "-".join(new_hex("", rules.BACKUP_CODE_GROUP_DIGITS) for _ in range(rules.BACKUP_CODE_GROUPS))


async def is_on(tx: Tx, developer_id: int) -> bool:
    """Return whether the developer logs in with two factors."""
    return await store.is_on(tx, developer_id)


async def take_code(tx: Tx, seal: Seal, developer_id: int, code: str) -> bool:
    """Use up a code of the app, or a backup code; return whether it was right and not used before.

    False counts as a wrong code, so the caller commits it and refuses then. Without two-factor login no code is right.

    Raises: CodesPaused.
    """
    factor = await store.lock_second_factor(tx, developer_id)
    if factor is None or not factor.is_on:
        return False
    return await evaluate(tx, seal, developer_id, factor, rules.plain(code))


async def evaluate(tx: Tx, seal: Seal, developer_id: int, factor: SecondFactor, code: str) -> bool:
    """Take the plain code of a locked second factor, or count it as wrong. Raises: CodesPaused."""
    if factor.pause_seconds is not None and factor.pause_seconds > 0:
        raise CodesPaused(retry_after=factor.pause_seconds)
    if rules.is_app_code(code):
        step = _matching_step(seal, developer_id, factor, code)
        is_right = step is not None and await store.take_step(tx, developer_id, step)
    else:
        is_right = await store.take_backup_code(tx, developer_id, fingerprint(code))
    if not is_right:
        await store.count_wrong_code(tx, developer_id, rules.WRONG_CODES_MAX, rules.PAUSE_MINUTES)
    return is_right


def _matching_step(seal: Seal, developer_id: int, factor: SecondFactor, code: str) -> int | None:
    """The step of the app's code; None also where the seed was sealed under a key that is lost."""
    try:
        seed = open_seed(seal, developer_id, factor.sealed_seed)
    except BadSeal:
        _log.error("the seed of a second factor cannot be decrypted", developer=developer_id)
        return None
    return rules.matching_step(seed, code, now=factor.now, last_step=factor.last_step)


def close_seed(seal: Seal, developer_id: int, seed: str) -> bytes:
    """The seed as it is kept; it opens for this developer only."""
    return seal.close(seed.encode(), _purpose(developer_id))


def open_seed(seal: Seal, developer_id: int, sealed_seed: bytes) -> str:
    """The seed that was kept."""
    return seal.open(sealed_seed, _purpose(developer_id)).decode()


def _purpose(developer_id: int) -> str:
    return f"second factor of developer {developer_id}"


SEALED_SEEDS = SealedColumn("people_second_factor", "developer_id", "sealed_seed", _purpose)
