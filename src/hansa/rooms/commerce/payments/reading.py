"""Queries of payment tokens: those of an agent, and a single one for other rooms."""

from collections.abc import Sequence
from uuid import UUID

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.secrets import fingerprint

from . import store
from .rules import Status, Token


async def list_tokens(
    tx: Tx, did: str, *, is_payee: bool, status: Status | None, limit: int, token_id: UUID | None = None
) -> Sequence[Token]:
    """The tokens that an agent authorized, or those where it is the payee, newest first; with `token_id` that one alone."""
    if token_id is not None:
        return await store.listed_one(tx, did, is_payee=is_payee, status=status, token_id=token_id)
    return await store.listed(tx, did, is_payee=is_payee, status=status, limit=limit)


async def token_of_id(tx: Tx, token_id: UUID) -> Token | None:
    """One token, whatever its status."""
    return await store.find(tx, token_id)


async def tokens_of_ids(tx: Tx, ids: Sequence[UUID]) -> dict[UUID, Token]:
    """These tokens, whatever their status."""
    return await store.find_many(tx, ids)


async def token_of_secret(tx: Tx, secret: str) -> Token | None:
    """The token that this is the secret of."""
    return await store.find_by_hash(tx, fingerprint(secret))


async def token_of_payment(tx: Tx, tx_id: int) -> Token | None:
    """The token that this transaction paid."""
    return await store.token_of_payment(tx, tx_id)


async def was_used(tx: Tx, token_id: UUID) -> bool:
    """Return whether a service has used a token."""
    return await store.was_used(tx, token_id)


async def same_work(tx: Tx, token: Token) -> Sequence[Token]:
    """The other tokens of the same caller that were settled before this one ended, for the same request of a task."""
    return await store.same_work(tx, token)
