"""Developer of an API key, read at every request that shows one."""

from collections.abc import Sequence
from weakref import WeakKeyDictionary

from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.batch_loader import BatchLoader
from hansa.foundation.plumbing.storage.database import Database
from hansa.foundation.plumbing.web.caller import Developer
from hansa.foundation.values.errors import Unauthorized
from hansa.foundation.values.secrets import fingerprint

from . import store

KEY_PREFIX = "avreg_"
KEY_MAX_CHARACTERS = 256


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


_gatherings: WeakKeyDictionary[Database, BatchLoader[bytes, store.KeyBearer]] = WeakKeyDictionary()


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
