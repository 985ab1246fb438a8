"""Quotas of the agents that agents make: counted under the row lock of the root, in the transaction that makes them.

A fork of a bundle counts in its creator's tree and is no child: it has no parent, no purse and no end.
"""

from datetime import datetime

import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms.agents.errors import AgentUnknown
from hansa.rooms.agents.rules import require_active

from . import rules, store
from .rules import NewChild, Place
from .store import LockedAgent


class HeldPlace(msgspec.Struct, frozen=True):
    """Locked agent that may make one more agent, and its place."""

    agent: LockedAgent
    place: Place


async def hold_place(tx: Tx, did: str) -> HeldPlace:
    """Lock the root of the agent's tree and the agent, and require room for one more agent in the tree.

    Raises: AgentUnknown, AgentSuspended, AgentRevoked, ChildEnding, SpawnQuotaReached.
    """
    root_did = (await store.place_of(tx, did)).root_did
    await store.lock_agent(tx, root_did)
    agent = await store.lock_agent(tx, did)
    if agent is None or agent.kind != "agent":
        raise AgentUnknown
    require_active(agent.status)
    # Read in statements after the locks, which see what a rival committed.
    place = await store.place_of(tx, did)
    rules.require_living(place)
    rules.require_room(await store.counted(tx, place.root_did, rules.PER_MINUTE))
    return HeldPlace(agent, place)


async def record_child(tx: Tx, held: HeldPlace, child: NewChild) -> datetime:
    """Count a child of the held agent; returns its end."""
    return await store.insert_child(tx, held.place, child)


async def count_fork(tx: Tx, held: HeldPlace, fork_did: str) -> None:
    """Count a fork that the held agent makes."""
    await store.insert_fork(tx, held.place.root_did, fork_did)
