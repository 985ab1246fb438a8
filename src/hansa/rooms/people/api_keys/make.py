"""Make, list and revoke API keys."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Developer
from hansa.foundation.values.secrets import fingerprint, new_hex

from . import rules, store
from .check import KEY_PREFIX
from .errors import KeyUnknown, TooManyKeys
from .records import ApiKey, NewKey

SHOWN_CHARACTERS = 14


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
    await store.lock_owner(tx, maker.id)
    if await store.active_keys(tx, maker.id) >= rules.KEYS_PER_ACCOUNT:
        raise TooManyKeys(context={"limit": rules.KEYS_PER_ACCOUNT})
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
