"""Make, list and revoke API keys, and read the developer of a key at every request that shows one."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.batch_loader import BatchLoader
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.foundation.plumbing.web.caller import Developer
from hansa.foundation.values.errors import Unauthorized
from hansa.foundation.values.secrets import fingerprint, new_hex

from . import rules, store
from .errors import KeyUnknown, TooManyKeys
from .records import ApiKey, NewKey

SHOWN_CHARACTERS = 14
KEY_PREFIX = "avreg_"
KEY_MAX_CHARACTERS = 256
_gatherings: WeakKeyDictionary[Database, BatchLoader[bytes, store.KeyBearer]] = WeakKeyDictionary()


@dataclass(frozen=True)
class MadeKey:
    """A new key; the plain one is shown this once."""

    plain: str = field(repr=False)
    key: ApiKey


async def make_key(
    tx: Tx, maker: Developer, *, name: str, scopes: Sequence[str] | None, ttl_days: int
) -> MadeKey:
    """A key of the maker's account; `ttl_days` 0 means that it does not end.

    Raises: ScopeBroader, TooManyKeys.
    """
    granted = rules.granted_scopes(scopes, held=maker.scopes, areas=maker.areas)
    await _require_room(tx, maker)
    plain = new_hex(KEY_PREFIX)
    new = NewKey(
        developer_id=maker.id,
        key_hash=fingerprint(plain),
        key_prefix=plain[:SHOWN_CHARACTERS],
        description=name,
        scopes=granted,
        ttl_days=ttl_days or None,
        second_factor_at=maker.second_factor_at,
    )
    return MadeKey(plain, await store.add_key(tx, new))


async def list_keys(tx: Tx, developer: Developer, *, limit: int, offset: int) -> tuple[list[ApiKey], int]:
    """A page of the developer's own keys, newest first, and how many there are in all."""
    return await store.keys_of(tx, developer.id, limit=limit, offset=offset)


async def revoke_key(tx: Tx, developer: Developer, key_id: int) -> ApiKey:
    """End a key of the developer's own, from the next request on. Raises: KeyUnknown."""
    revoked = await store.revoke_key(tx, developer.id, key_id)
    if revoked is None:
        raise KeyUnknown
    return revoked


async def restore_key(tx: Tx, developer: Developer, key_id: int) -> bool:
    """Undo the revocation of a key of the developer's own; False when it is too late. Raises: TooManyKeys."""
    await _require_room(tx, developer)
    return await store.restore_key(tx, developer.id, key_id)


async def _require_room(tx: Tx, developer: Developer) -> None:
    """Lock the account for one more active key. Raises: TooManyKeys."""
    await store.lock_owner(tx, developer.id)
    if await store.active_keys(tx, developer.id) >= rules.KEYS_PER_ACCOUNT:
        raise TooManyKeys(context={"limit": rules.KEYS_PER_ACCOUNT})


async def check_api_key(runtime: Runtime, key: str) -> Developer:
    """The developer who holds this key, as both stand now. Raises: Unauthorized."""
    if len(key) > KEY_MAX_CHARACTERS or not key.isascii():
        raise Unauthorized
    bearer = await _bearers_of(runtime.database).find(fingerprint(key))
    if bearer is None:
        raise Unauthorized
    return bearer.developer


async def check_key_behind_ticket(runtime: Runtime, key_id: int) -> Developer:
    """The developer who holds the key that a ticket was asked for with. Raises: Unauthorized."""
    bearer = await runtime.database.query(lambda tx: store.find_bearer(tx, key_id))
    if bearer is None:
        raise Unauthorized
    return bearer.developer


def _bearers_of(database: Database) -> BatchLoader[bytes, store.KeyBearer]:
    """The lookups of keys that gather in this process."""
    gathering = _gatherings.get(database)
    if gathering is None:

        async def load(key_hashes: Sequence[bytes]) -> dict[bytes, store.KeyBearer]:
            found = await database.query(lambda tx: store.find_bearers(tx, key_hashes))
            if due := [bearer.key_id for bearer in found.values() if bearer.is_use_due]:
                await database.transaction(lambda tx: store.note_use(tx, due))
            return found

        gathering = _gatherings[database] = BatchLoader(load)
    return gathering
