"""Wrapped units for the rooms above: their supply, and what binds an agent."""

from hansa.foundation.plumbing.storage.database import Tx

from . import wrapped_store
from .errors import AgentHoldsWrapped
from .wrapped_store import WrappedSupply


async def wrapped_supply(tx: Tx) -> list[WrappedSupply]:
    """What is held of each unit of another registry; `tx` must be one snapshot."""
    return await wrapped_store.supply(tx)


async def require_no_wrapped(tx: Tx, did: str) -> None:
    """The agent, which the caller has locked, holds no wrapped units. Raises: AgentHoldsWrapped."""
    if await wrapped_store.is_bound(tx, did):
        raise AgentHoldsWrapped
