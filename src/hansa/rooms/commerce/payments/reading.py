"""What agents read of their tokens, and other parts of the registry of one."""

from collections.abc import Sequence
from uuid import UUID

from hansa.foundation.plumbing.database import Tx
from hansa.foundation.values.secrets import fingerprint

from . import store
from .rules import Status, Token


async def list_tokens(
    tx: Tx, did: str, *, is_payee: bool, status: Status | None, limit: int
) -> Sequence[Token]:
    """The tokens that an agent authorized, or those where it is the payee, newest first."""
    return await store.listed(tx, did, is_payee=is_payee, status=status, limit=limit)


async def token_of_id(tx: Tx, token_id: UUID) -> Token | None:
    """One token, whatever its status."""
    return await store.find(tx, token_id)


async def token_of_secret(tx: Tx, secret: str) -> Token | None:
    """The token that this is the secret of."""
    return await store.find_by_hash(tx, fingerprint(secret))
