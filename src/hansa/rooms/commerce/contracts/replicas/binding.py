"""Contracts at other registries that bind an agent of this one."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import federation
from hansa.rooms.commerce.contracts.contract import UNDER_WAY, Status

from . import store

BINDING = (*UNDER_WAY, Status.DISPUTED)


async def count_binding_abroad(
    tx: Tx, dids: Sequence[str], statuses: Collection[Status] = BINDING
) -> Mapping[str, int]:
    """How many contracts at peers each agent has accepted that are in these states, or is just accepting; an agent without any is absent.

    A registry that is no peer any more binds no agent: nothing reaches this registry about its contracts.
    """
    found = await store.count_binding(tx, dids, statuses)
    present = await federation.peers_among(tx, {one.peer for one in found}) if found else frozenset()
    counts: Counter[str] = Counter()
    for one in found:
        if one.peer in present:
            counts[one.did] += one.count
    return counts
