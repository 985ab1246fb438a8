"""End of a child, in two steps that may share a commit.

- It begins at the end of its life or by the word of its owner or parent: roles end, it pays nobody, authorized tokens are released.
- It is complete once nothing binds the child: the balance less the fee goes to the parent and the child is revoked, in one commit.

Locks: the parent, the child, its tokens, then the ledger. A child whose sweep is refused waits, and the job tries again.
"""

from collections.abc import Awaitable, Callable
from typing import TypeAlias

import msgspec
import structlog

from hansa.foundation.plumbing.jobs import sweep_with_runtime
from hansa.foundation.plumbing.process.runtime import Runtime, Slot
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Agent, Developer
from hansa.foundation.values.errors import Refused
from hansa.foundation.values.rights import Right
from hansa.rooms import agents, commerce, ledger, organizations

from .binding import Obstacle, obstacles_of

MEMO = "End of a child"
_log = structlog.get_logger()

LetBondGo: TypeAlias = Callable[[Tx, str, Settings], Awaitable[None]]
LET_BOND_GO: Slot[LetBondGo] = Slot("spawn: release of the bond of a child")
"""Begins or completes the release of the bond of an agent, as far as nothing blocks it."""


class Ended(msgspec.Struct, frozen=True):
    """A child after an attempt to end it, and the reasons for which it is not swept yet."""

    child: agents.Child
    obstacles: tuple[Obstacle, ...] = ()


async def end_child(tx: Tx, caller: Developer | Agent, did: str, runtime: Runtime) -> Ended:
    """End a child by its owner's or its parent's word; one that is ending is tried again, one that has ended stays as it is.

    Raises: AgentUnknown, OrgRoleRequired, AgentHasChildren.
    """
    await _require_end(tx, caller, did)
    child = await agents.lock_child(tx, did)
    if child.state == "ended":
        return Ended(child)
    if child.state == "living":
        await agents.require_no_children(tx, did)
        is_owner = isinstance(caller, Developer)
        await _begin(tx, child, "owner" if is_owner else "parent", runtime)
        if isinstance(caller, Developer):
            await _record(tx, caller, did)
    return await _finish(tx, await agents.child_of(tx, did), runtime)


async def end_due(tx: Tx, runtime: Runtime) -> None:
    """Go on with the end of the child that has been due longest."""
    did = await agents.first_child_due(tx)
    if did is None:
        return
    child = await agents.lock_child(tx, did)
    if child.state == "living" and child.is_expired:
        await _begin(tx, child, "ttl", runtime)
        child = await agents.child_of(tx, did)
    if child.state == "ending":
        await _finish(tx, child, runtime)


async def _require_end(tx: Tx, caller: Developer | Agent, did: str) -> None:
    """Raises: AgentUnknown, ChildUnknown, OrgRoleRequired."""
    if isinstance(caller, Developer):
        await agents.seen_with(tx, caller.id, did, Right.END)
    elif (await agents.child_of(tx, did)).parent_did != caller.did:
        raise agents.ChildUnknown


async def _begin(tx: Tx, child: agents.Child, cause: agents.Cause, runtime: Runtime) -> None:
    await commerce.release_all(tx, child.did, ledger.Book.of(runtime.settings))
    await agents.begin_end_of_child(tx, child.did, cause)


async def _finish(tx: Tx, child: agents.Child, runtime: Runtime) -> Ended:
    """Sweep and revoke a child that is ending, or put it off with the reasons. What fails is undone and leaves it ending."""
    savepoint = tx.transaction()
    await savepoint.start()
    try:
        obstacles = await _swept(tx, child, runtime)
    except Refused as refusal:
        await savepoint.rollback()
        _log.warning("child cannot be swept yet", agent=child.did, code=refusal.code)
        obstacles = [Obstacle("account", refusal.detail)]
    else:
        await savepoint.commit()
    if obstacles:
        await agents.put_end_off(tx, child.did)
    return Ended(await agents.child_of(tx, child.did), tuple(obstacles))


async def _swept(tx: Tx, child: agents.Child, runtime: Runtime) -> list[Obstacle]:
    """Raises: AccountSuspended, AccountHoldsUnits, CrossingPending."""
    settings = runtime.settings
    book = ledger.Book.of(settings)
    if child.status == "active":
        await commerce.release_all(tx, child.did, book)
        policy, pins = ledger.StakingPolicy.of(settings), ledger.STAKE_PINS.of(runtime)
        await ledger.release_unlocked(tx, child.did, policy, book, pins)
        await LET_BOND_GO.of(runtime)(tx, child.did, settings)
    if obstacles := await obstacles_of(tx, child, runtime):
        return obstacles
    ref = f"spawn-end-{child.did.rpartition(':')[2]}"
    swept = await ledger.sweep_account(tx, child.did, child.parent_did, ref=ref, memo=MEMO, book=book)
    await agents.retire(tx, child.did, by="spawn_end")
    await agents.note_swept(tx, child.did, swept.amount)
    return []


async def _record(tx: Tx, developer: Developer, did: str) -> None:
    owner = (await agents.ownerships_of(tx, [did]))[did]
    if owner.organization_id is not None:
        await organizations.record_act(tx, owner.organization_id, developer, "agent.spawn_end", did)


END_CHILDREN = sweep_with_runtime("spawn: end children", 1, end_due, has_work=agents.HAS_CHILD_DUE)
