"""Give a developer a bootstrap token.

Check that a developer may create agents: the room above that suspends developers decides.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, TypeAlias

from fastapi import Depends

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import IS_DEVELOPER_SUSPENDED, Developer
from hansa.foundation.values.errors import DeveloperSuspended
from hansa.foundation.values.secrets import fingerprint, new_hex

from . import rules, store

IsSuspended: TypeAlias = Callable[[Tx, int], Awaitable[bool]]
"""Whether the developer of that id is suspended; while it says no, nobody suspends them before the transaction ends."""
OwnerSuspension = Annotated[IsSuspended, Depends(IS_DEVELOPER_SUSPENDED.given)]


@dataclass(frozen=True)
class IssuedToken:
    """A new bootstrap token and its end by the database's clock."""

    token: str = field(repr=False)
    expires_at: datetime


async def issue_bootstrap_token(
    tx: Tx,
    developer: Developer,
    *,
    agent_type_hint: str | None,
    requested_by: str | None,
    lifetime_seconds: int,
    is_suspended: IsSuspended,
) -> IssuedToken:
    """A token that creates one agent for this developer.

    Raises: DeveloperUnverified, DeveloperSuspended.
    """
    rules.require_verified(is_verified=developer.is_verified)
    await require_not_suspended(tx, developer.id, is_suspended)
    token = new_hex("bst_")
    expires_at = await store.insert_bootstrap_token(
        tx,
        token_sha256=fingerprint(token),
        developer_id=developer.id,
        agent_type_hint=agent_type_hint,
        requested_by=requested_by,
        lifetime_seconds=lifetime_seconds,
    )
    return IssuedToken(token, expires_at)


async def forget_bootstrap_tokens(tx: Tx, developer_id: int) -> None:
    """Delete the developer's tokens; one that a creation under way has burned is waited for."""
    await store.delete_bootstrap_tokens(tx, developer_id)


async def require_not_suspended(tx: Tx, developer_id: int, is_suspended: IsSuspended) -> None:
    """Raises: DeveloperSuspended."""
    if await is_suspended(tx, developer_id):
        raise DeveloperSuspended
