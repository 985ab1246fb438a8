"""Check that a developer may create agents: the room above that suspends developers decides."""

from collections.abc import Awaitable, Callable
from typing import Annotated, TypeAlias

from fastapi import Depends

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import IS_DEVELOPER_SUSPENDED
from hansa.foundation.values.errors import DeveloperSuspended

IsSuspended: TypeAlias = Callable[[Tx, int], Awaitable[bool]]
"""Whether the developer of that id is suspended; while it says no, nobody suspends them before the transaction ends."""


async def require_not_suspended(tx: Tx, developer_id: int, is_suspended: IsSuspended) -> None:
    """Raises: DeveloperSuspended."""
    if await is_suspended(tx, developer_id):
        raise DeveloperSuspended


OwnerSuspension = Annotated[IsSuspended, Depends(IS_DEVELOPER_SUSPENDED.given)]
