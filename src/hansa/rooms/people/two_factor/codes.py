"""Take a code: once, whoever else shows it at the same moment."""

import structlog

from hansa.foundation.plumbing.keys.seal import BadSeal, Seal
from hansa.foundation.plumbing.keys.sealed_columns import SealedColumn
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.secrets import fingerprint

from . import rules, store
from .errors import CodesPaused
from .store import SecondFactor

_log = structlog.get_logger()


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
