"""Giving a token up while it is unused, and the end of those whose time is over."""

from uuid import UUID

import structlog

from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.errors import Unavailable
from hansa.foundation.values.secrets import fingerprint
from hansa.rooms import ledger

from . import rules, store
from .ending import end_unpaid
from .rules import Token
from .store import DueToken

EXPIRED_AT_ONCE = 1000

_log = structlog.get_logger()


async def release(tx: Tx, secret: str, by: str, book: ledger.Book) -> Token:
    """Release an authorized token. Raises: TokenUnknown, NotTheCaller, TokenStatus."""
    token = rules.require_releasable(await store.lock_by_hash(tx, fingerprint(secret)), by)
    return await end_unpaid(tx, token, "released", book)


async def release_by_id(tx: Tx, token_id: UUID, by: str, book: ledger.Book) -> Token:
    """Release a token, as `release` does, by its id."""
    token = rules.require_releasable(await store.lock(tx, token_id), by)
    return await end_unpaid(tx, token, "released", book)


async def expire_due_tokens(runtime: Runtime) -> None:
    """Expire every open token whose time is over; its reserved units and its counted budget go back to its caller."""
    database = runtime.database
    while await database.transaction(lambda tx: store.expire_plain(tx, EXPIRED_AT_ONCE)) == EXPIRED_AT_ONCE:
        pass
    last: DueToken | None = None
    while due := await database.query(lambda tx, after=last: store.due(tx, after, EXPIRED_AT_ONCE)):  # type: ignore[misc]
        for token in due:
            await _expire_or_leave(runtime, token.id)
        last = due[-1]


async def _expire_or_leave(runtime: Runtime, token_id: UUID) -> None:
    """Expire a token; one that cannot be ended is left for the next round and hinders none behind it. Raises: Unavailable."""
    try:
        await expire(runtime, token_id)
    except Unavailable:
        raise
    except Exception:  # noqa: BLE001
        _log.exception("payment token cannot be expired", token_id=str(token_id))


async def expire(runtime: Runtime, token_id: UUID) -> None:
    """Expire one token if its time is over."""
    book = ledger.Book.of(runtime.settings)

    async def expired(tx: Tx) -> None:
        token = await store.lock(tx, token_id)
        if token is not None and token.status in rules.OPEN and token.is_expired:
            await end_unpaid(tx, token, "expired", book)

    await runtime.database.transaction(expired)
