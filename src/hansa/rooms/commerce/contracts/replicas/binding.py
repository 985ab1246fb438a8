"""Contracts at other registries that bind an agent of this one."""

from collections.abc import Collection

from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import federation
from hansa.rooms.commerce.contracts.contract import UNDER_WAY, Status

from . import store

BINDING = (*UNDER_WAY, Status.DISPUTED)


async def count_binding_abroad(tx: Tx, did: str, statuses: Collection[Status] = BINDING) -> int:
    """How many contracts at peers an agent has accepted that are in these states, or is just accepting.

    A registry that is no peer any more binds no agent: nothing reaches this registry about its contracts.
    """
    counts = await store.count_binding(tx, did, statuses)
    present = [peer for peer in counts if await federation.peer_by_spiffe_id(tx, peer) is not None]
    return sum(counts[peer] for peer in present)
