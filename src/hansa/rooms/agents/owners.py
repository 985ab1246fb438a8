"""Whether a developer may create agents: asked of the room above that suspends developers."""

from collections.abc import Awaitable, Callable
from typing import Annotated, TypeAlias

from fastapi import Depends, Request

from hansa.foundation.plumbing.database import Tx
from hansa.foundation.values.errors import DeveloperSuspended

IsSuspended: TypeAlias = Callable[[Tx, int], Awaitable[bool]]
"""Whether the developer of that id is suspended; while it says no, nobody suspends them before the transaction ends."""


async def require_not_suspended(tx: Tx, developer_id: int, is_suspended: IsSuspended) -> None:
    """Raises: DeveloperSuspended."""
    if await is_suspended(tx, developer_id):
        raise DeveloperSuspended


async def _given_at_assembly(request: Request) -> IsSuspended:
    is_suspended: IsSuspended = request.app.state.is_developer_suspended
    return is_suspended


OwnerSuspension = Annotated[IsSuspended, Depends(_given_at_assembly)]
