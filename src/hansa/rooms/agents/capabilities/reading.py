"""Whose capabilities there are."""

from collections.abc import Sequence

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Developer
from hansa.rooms.agents.rules import require_own
from hansa.rooms.agents.store import find_owner_and_roles

from . import store
from .rules import Chain


async def own_capabilities(tx: Tx, did: str) -> Sequence[Chain]:
    """The capabilities that the asking agent issued or holds, the newest first."""
    return await store.chains_of(tx, did)


async def delegations(tx: Tx, developer: Developer, did: str) -> Sequence[Chain]:
    """The capabilities that an own agent issued or holds, the newest first. Raises: AgentUnknown."""
    require_own(await find_owner_and_roles(tx, did), developer.id)
    return await store.chains_of(tx, did)
