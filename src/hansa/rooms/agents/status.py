"""Status of an agent: suspended, active again, revoked for good. It counts from the agent's next request on.

Each act locks the agent, so of two at once the second sees the result of the first.

An agent ends by its own word or its owner's. A suspended one does not: it would escape the cause of its suspension.
"""

from collections.abc import Awaitable, Callable, Collection, Sequence
from datetime import datetime
from typing import Literal, TypeAlias

from msgspec.structs import replace

from hansa.foundation.events import AgentRevoked, AgentStatusChanged
from hansa.foundation.plumbing.process.runtime import Slot
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.joined_reads import read_together
from hansa.foundation.plumbing.web.caller import Developer
from hansa.foundation.values.errors import Refused
from hansa.foundation.values.rights import Owner, Right
from hansa.rooms import catalogue, journal, ledger

from . import rules, store
from .errors import AgentSuspended, AgentUnknown
from .lineage import note_end, require_no_children
from .mtls import revoke_mtls
from .rights import held_with
from .rules import OwnedAgent

Suspended = Literal["suspended", "already", "revoked", "not_found"]
Reinstated = Literal["reinstated", "already", "revoked", "not_found"]
Revoked = Literal["revoked", "already", "not_found"]
Revoker = Literal["agent", "owner", "administrator", "account_deletion", "spawn_end"]
RequireUnbound: TypeAlias = Callable[[Tx, str], Awaitable[None]]


def _of_all_rooms(found: Sequence[RequireUnbound]) -> RequireUnbound:
    async def require_unbound(tx: Tx, did: str) -> None:
        for of_room in found:
            await of_room(tx, did)

    return require_unbound


REQUIRE_UNBOUND: Slot[RequireUnbound] = Slot("agents: nothing binds an agent", joined=_of_all_rooms)
"""Raises Conflict when an agreement binds the agent of that DID, which the caller has locked."""


async def suspend(tx: Tx, did: str) -> Suspended:
    """Suspend an agent and record AgentStatusChanged; its ledger account, its certificate and its card are for the caller."""
    status = await store.lock_status(tx, did)
    if status == "active":
        await store.write_status(tx, did, "suspended")
        await journal.append(tx, AgentStatusChanged(did, "active", "suspended"))
        return "suspended"
    return "already" if status == "suspended" else _ended(status)


async def reinstate(tx: Tx, did: str) -> Reinstated:
    """Let a suspended agent act again and record AgentStatusChanged; its ledger account, its certificate and its card are for the caller."""
    status = await store.lock_status(tx, did)
    if status == "suspended":
        await store.write_status(tx, did, "active")
        await journal.append(tx, AgentStatusChanged(did, "suspended", "active"))
        return "reinstated"
    return "already" if status == "active" else _ended(status)


async def revoke(tx: Tx, did: str, *, by: Revoker) -> Revoked:
    """End an agent for good, with its certificate and its card; records AgentStatusChanged and AgentRevoked.

    Its ledger account is left as it is: close it first, or leave it suspended.
    """
    status = await store.lock_status(tx, did)
    if status is None:
        return "not_found"
    if status == "revoked":
        return "already"
    await revoke_mtls(tx, did)
    await store.write_revoked(tx, did)
    await note_end(tx, did)
    await catalogue.retire_card(tx, did)
    await journal.append(tx, AgentStatusChanged(did, status, "revoked"), AgentRevoked(did=did, by=by))
    return "revoked"


async def retire(tx: Tx, did: str, *, by: Revoker) -> Revoked:
    """End an agent whose account is empty, and close the account, so that no unit is lost to the owner.

    The deletion of a developer's account waits for no other registry.

    Raises: AccountHoldsUnits, CrossingPending.
    """
    if await store.lock_status(tx, did) is None:
        return "not_found"
    await ledger.close_account(tx, did, waits_for_crossings=by != "account_deletion")
    return await revoke(tx, did, by=by)


async def statuses_of(tx: Tx, dids: Sequence[str]) -> dict[str, str]:
    """The statuses of those of the DIDs that are agents of this registry."""
    return await store.statuses_of(tx, dids)


async def dids_named(tx: Tx, names: Sequence[str]) -> dict[str, str]:
    """The DIDs of agents of this registry, by the DID or client id that names them."""
    return await store.dids_named(tx, names)


async def of_developer(tx: Tx, developer_id: int) -> list[OwnedAgent]:
    """Every agent that a developer ever created, the oldest first."""
    return await currently_named(tx, await store.agents_of(tx, developer_id))


async def find_agents(
    tx: Tx, text: str, status: str | None, *, limit: int, offset: int
) -> tuple[list[OwnedAgent], int]:
    """A page of all agents with this DID or with this in their name, newest first, and how many there are."""
    found, total = await store.find_agents(tx, text.strip(), status, limit=limit, offset=offset)
    return await currently_named(tx, found), total


async def readable_among(tx: Tx, developer_id: int, dids: Collection[str]) -> frozenset[str]:
    """Those of the DIDs that are agents which the developer may read, in any status."""
    return await store.readable_among(tx, developer_id, dids)


async def oldest_of_developer(tx: Tx, developer_id: int, limit: int) -> tuple[list[OwnedAgent], int]:
    """The first agents of a developer, under the names that they were created with, and how many there are; one statement."""
    return await store.page_of_agents(tx, developer_id, limit=limit, offset=0)


async def page_of_developer(
    tx: Tx, developer_id: int, *, limit: int, offset: int
) -> tuple[list[OwnedAgent], int]:
    """A page of the same, and how many there are."""
    page, total = await store.page_of_agents(tx, developer_id, limit=limit, offset=offset)
    return await currently_named(tx, page), total


async def active_dids_of(tx: Tx, developer_id: int, limit: int) -> list[str]:
    """The DIDs of the newest active agents of a developer."""
    return await store.active_dids_of(tx, developer_id, limit)


async def own_agent(tx: Tx, developer_id: int, did: str, right: Right = Right.READ) -> OwnedAgent:
    """One agent at which a developer has the right, in any status. Raises: AgentUnknown, also for another developer's."""
    agent, names = await read_together(
        tx,
        lambda tx: store.agent_with(tx, developer_id, did, right),
        lambda tx: catalogue.names_of_agents(tx, [did]),
    )
    if agent is None:
        raise AgentUnknown
    return replace(agent, name=names.get(did, agent.name))


async def record_heartbeat(tx: Tx, did: str) -> datetime | None:
    """Note an agent's heartbeat, on its card too; None when one was noted within the last seconds."""
    heard_at = await store.record_heartbeat(tx, did)
    await catalogue.note_heartbeat(tx, did)
    return heard_at


async def lock_right_and_status(tx: Tx, developer_id: int, did: str) -> tuple[Right | None, str] | None:
    """The right of the developer at the agent, and its status, which do not change before the transaction ends; None: no such agent here."""
    return await store.lock_right_and_status(tx, developer_id, did)


async def lock_status(tx: Tx, did: str) -> str | None:
    """The agent's status, which does not change before the transaction ends; None: no such agent here."""
    return await store.lock_status(tx, did)


async def share_active(tx: Tx, did: str) -> None:
    """Keep an active agent active until the transaction ends; acts of it that do the same do not wait for each other.

    Raises: AgentSuspended, AgentRevoked.
    """
    rules.require_active(await store.share_status(tx, did) or "revoked")


async def share_those_active(tx: Tx, dids: Collection[str]) -> dict[str, Refused]:
    """Keep active agents active, like `share_active`; returns the refusals of the others."""
    statuses = await store.share_statuses(tx, dids)
    refusals: dict[str, Refused] = {}
    for did in dids:
        try:
            rules.require_active(statuses.get(did, "revoked"))
        except Refused as refusal:
            refusals[did] = refusal
    return refusals


async def is_kept_active(tx: Tx, did: str) -> bool:
    """Return whether an agent is active; it then stays so until the transaction ends."""
    return not await share_those_active(tx, [did])


async def lock_statuses(tx: Tx, dids: Collection[str]) -> dict[str, str]:
    """The statuses of those of the DIDs that are agents of this registry, which do not change before the transaction ends."""
    return await store.lock_statuses(tx, dids)


async def owner_of(tx: Tx, did: str) -> int | None:
    """The developer who created the agent; None: there is no such agent here."""
    return await store.owner_of(tx, did)


async def owners_of(tx: Tx, dids: Sequence[str]) -> dict[str, int]:
    """The developers of those agents that are here, by DID."""
    return await store.owners_of(tx, dids)


async def ownerships_of(tx: Tx, dids: Sequence[str]) -> dict[str, Owner]:
    """The owners of those agents that are here, by DID: developers or organizations."""
    return await store.ownerships_of(tx, dids)


async def currently_named(tx: Tx, agents: Sequence[OwnedAgent]) -> list[OwnedAgent]:
    """The agents under the names of their cards, which may have changed since they were created."""
    names = await catalogue.names_of_agents(tx, [agent.did for agent in agents])
    return [replace(agent, name=names.get(agent.did, agent.name)) for agent in agents]


def _ended(status: str | None) -> Literal["revoked", "not_found"]:
    return "not_found" if status is None else "revoked"


async def end_own_agent(tx: Tx, developer: Developer, did: str, require_unbound: RequireUnbound) -> None:
    """End an own agent for good; one that has ended is no trouble.

    Raises: AgentUnknown, NotTheOwner, AgentSuspended, AgentHasChildren, AccountHoldsUnits, CrossingPending, and the errors of
    `require_unbound`.
    """
    await held_with(tx, developer.id, did, Right.END)
    if await store.lock_status(tx, did) == "suspended":
        raise AgentSuspended
    await require_no_children(tx, did)
    await require_unbound(tx, did)
    await retire(tx, did, by="owner")


async def end_itself(tx: Tx, did: str, require_unbound: RequireUnbound) -> None:
    """End the agent that asks.

    Raises: AgentSuspended, AgentRevoked, AgentHasChildren, AccountHoldsUnits, CrossingPending, and the errors of `require_unbound`.
    """
    rules.require_active(await store.lock_status(tx, did) or "revoked")
    await require_no_children(tx, did)
    await require_unbound(tx, did)
    await retire(tx, did, by="agent")
