"""Wrapped units for the rooms above: their supply, and the balances and sagas that bind an agent."""

from hansa.foundation.plumbing.storage.database import Tx

from . import wrapped_store
from .errors import AgentHoldsWrapped
from .wrapped_store import WrappedSupply


async def wrapped_supply(tx: Tx) -> list[WrappedSupply]:
    """Return the supply of each unit of another registry that is held here; `tx` must be one snapshot."""
    return await wrapped_store.supply(tx)


async def require_no_wrapped(tx: Tx, did: str) -> None:
    """The agent, which the caller has locked, holds no wrapped units. Raises: AgentHoldsWrapped."""
    if await wrapped_store.is_bound(tx, did):
        raise AgentHoldsWrapped
