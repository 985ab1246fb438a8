"""The first half of a login with two factors: a token that a code completes.

It is good for five minutes, for one login, and for five tries.
"""

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.secrets import fingerprint, new_hex

from . import phones, store

LIFETIME_SECONDS = 300
TRIES_MAX = 5


async def begin(tx: Tx, developer_id: int) -> str:
    """A partial token for a person who gave the right password."""
    partial_token = new_hex("hpt_")
    await store.add_partial_token(tx, developer_id, fingerprint(partial_token), LIFETIME_SECONDS)
    return partial_token


async def count_try(tx: Tx, partial_token: str) -> int | None:
    """The developer whose token this is, after one more try was counted; None when it is good no more."""
    token_hash = fingerprint(partial_token)
    await store.hold_owner_of_partial_token(tx, token_hash)
    return await store.try_partial_token(tx, token_hash, TRIES_MAX)


async def hold(tx: Tx, partial_token: str) -> int | None:
    """The developer whose token this is, locked without a try; None when it is good no more."""
    token_hash = fingerprint(partial_token)
    await store.hold_owner_of_partial_token(tx, token_hash)
    return await store.lock_partial_token(tx, token_hash, TRIES_MAX)


async def burn(tx: Tx, partial_token: str) -> None:
    """The token has completed its login."""
    await store.burn_partial_token(tx, fingerprint(partial_token))
    await phones.cancel_login(tx, partial_token)
