"""Suspend agents: each is refused from its next request on, in every process.

Revoke suspended agents for good. The units of their accounts stay there, and take part in no transfer.

Reinstate agents: their suspensions are lifted, and the withheld identity and account are restored.

Agents that were suspended at a moment, for rooms whose deadlines a suspension stops.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from hansa.foundation.events import AgentReinstated, AgentSuspended
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.admin_acts import record_admin_act
from hansa.foundation.plumbing.web.caller import Developer
from hansa.rooms import agents, journal

from . import effects, store
from .effects import record_statuses
from .rules import Basis, End, Ended, HardSuspension, Restored, Return, Stopped

STOPPED = ("suspended", "already_suspended")
RETURNED = ("reinstated", "already_active")
OF_ANCESTOR = "An ancestor of the agent is suspended."


async def suspend_agents(
    tx: Tx, dids: Sequence[str], administrator: Developer, *, reason: str, soft: bool
) -> list[Stopped]:
    """Suspend the agents; one answer for each DID. A hard suspension makes a soft one hard, and never the reverse.

    Raises: agents.AgentOfCaller.
    """
    await agents.require_of_others(tx, administrator, dids)
    known = await agents.statuses_of(tx, dids)
    outcome = await suspend_each(tx, list(known), administrator, basis="agent", reason=reason, soft=soft)
    for did in outcome:
        await record_admin_act(tx, administrator, act="agent.suspend", subject=did, reason=reason)
    return [outcome.get(did, Stopped(did, "not_found", "skipped", "skipped")) for did in dids]


async def suspend_each(
    tx: Tx, dids: Sequence[str], administrator: Developer, *, basis: Basis, reason: str, soft: bool
) -> dict[str, Stopped]:
    """Suspend these agents for one reason, and the living below them because of them.

    Every effect is carried out again: one may have failed before.
    """
    outcome = await _suspend_these(tx, dids, administrator, basis=basis, reason=reason, soft=soft)
    reached = set(outcome)
    pending = [did for did, stopped in outcome.items() if stopped.registry in STOPPED]
    # Read after the parents are locked: a child that was spawned meanwhile is among them.
    while below := [did for did in await agents.living_children_of(tx, pending) if did not in reached]:
        await _suspend_these(tx, below, administrator, basis="ancestor", reason=OF_ANCESTOR, soft=soft)
        reached |= set(below)
        pending = below
    return outcome


async def _suspend_these(
    tx: Tx, dids: Sequence[str], administrator: Developer, *, basis: Basis, reason: str, soft: bool
) -> dict[str, Stopped]:
    await store.lock(tx, dids)
    status = {did: await effects.suspend(tx, did) for did in sorted(dids)}
    stopped = [did for did, outcome in status.items() if outcome in STOPPED]
    await store.open_suspensions(tx, stopped, basis=basis, soft=soft, reason=reason, by=administrator.id)
    reached = (
        [] if soft else [did for did, outcome in status.items() if outcome in (*STOPPED, effects.FAILED)]
    )
    newly_withheld = await store.withhold(tx, reached)
    identity = {did: await effects.revoke_identity(tx, did) for did in reached}
    account = await effects.suspend_accounts(tx, reached)
    day = (await store.today(tx)).isoformat()
    outcome = [
        AgentSuspended(did=did, soft=soft, date=day)
        for did in stopped
        if status[did] == "suspended" or did in newly_withheld
    ]
    if outcome:
        await journal.append(tx, *outcome)
        await record_statuses(tx, [event.did for event in outcome], "suspended", day)
    return {
        did: Stopped(did, status[did], identity.get(did, "skipped"), account.get(did, "skipped"))
        for did in status
    }


async def revoke_agents(tx: Tx, dids: Sequence[str], administrator: Developer, *, reason: str) -> list[Ended]:
    """End the agents; one answer for each DID. An agent that is not suspended is left alone.

    Raises: agents.AgentOfCaller.
    """
    await agents.require_of_others(tx, administrator, dids)
    known = await agents.statuses_of(tx, dids)
    await store.lock(tx, known)
    status = await agents.statuses_of(tx, list(known))
    ending = sorted(did for did in status if status[did] == "suspended")
    outcome = await _end_these(tx, ending)
    for did in ending:
        await record_admin_act(tx, administrator, act="agent.revoke", subject=did, reason=reason)
    pending = [did for did in ending if outcome[did].registry == "revoked"]
    # The living below a suspended agent are suspended, and it gets no further children.
    while pending := await agents.living_children_of(tx, pending):
        await store.lock(tx, pending)
        await _end_these(tx, pending)
    return [
        outcome[did] if did in outcome else Ended(did, _left_alone(status.get(did)), "skipped", "skipped")
        for did in dids
    ]


async def _end_these(tx: Tx, dids: Sequence[str]) -> dict[str, Ended]:
    """End locked agents."""
    await store.withhold(tx, dids)
    identity = {did: await effects.revoke_identity(tx, did) for did in dids}
    ended = {did: await effects.end(tx, did) for did in dids}
    account = await effects.suspend_accounts(tx, dids)
    return {did: Ended(did, ended[did], identity[did], account.get(did, "skipped")) for did in dids}


def _left_alone(status: str | None) -> End:
    if status is None:
        return "not_found"
    return "already_revoked" if status == "revoked" else "not_suspended"


async def reinstate_agents(
    tx: Tx, dids: Sequence[str], administrator: Developer, *, reason: str | None, soft: bool
) -> list[Restored]:
    """Let the agents act again, whatever they were suspended for; one answer for each DID.

    A soft reinstatement leaves identity and account withheld until a hard one. Raises: agents.AgentOfCaller.
    """
    await agents.require_of_others(tx, administrator, dids)
    known = await agents.statuses_of(tx, dids)
    outcome = await reinstate_each(tx, list(known), administrator, soft=soft)
    for did in outcome:
        await record_admin_act(tx, administrator, act="agent.reinstate", subject=did, reason=reason)
    return [outcome.get(did, Restored(did, "not_found", "skipped", "skipped")) for did in dids]


async def reinstate_each(
    tx: Tx, dids: Sequence[str], administrator: Developer, *, soft: bool
) -> dict[str, Restored]:
    """Lift whatever stands against these agents, and what stands against the living below because of them.

    A child whose parent is suspended stays so because of that.
    """
    is_withheld = await store.lock(tx, dids)
    status: dict[str, Return] = {}
    for did in await _parents_first(tx, is_withheld):
        stays = await agents.has_suspended_parent(tx, did)
        status[did] = "parent_suspended" if stays else await effects.reinstate(tx, did)
    staying = [did for did, outcome in status.items() if outcome == "parent_suspended"]
    await _keep_suspended(tx, staying, is_withheld, administrator)
    lifted = [did for did, outcome in status.items() if outcome in RETURNED or outcome == "not_found"]
    await store.lift_suspensions(tx, lifted, by=administrator.id)
    unchanged = {"revoked", "parent_suspended"}
    due = (
        []
        if soft
        else [did for did, outcome in status.items() if is_withheld[did] and outcome not in unchanged]
    )
    identity = {did: await effects.restore_identity(tx, did) for did in due}
    account = await effects.reinstate_accounts(tx, due)
    restored_dids = [
        did for did in due if identity[did] != effects.FAILED and account.get(did) != effects.FAILED
    ]
    await store.withhold_no_more(tx, restored_dids)
    await _record(tx, status, restored_dids, soft=soft)
    await _reinstate_below(tx, [did for did in status if status[did] in RETURNED], administrator, soft=soft)
    return {
        did: Restored(did, status[did], identity.get(did, "skipped"), account.get(did, "skipped"))
        for did in status
    }


async def _parents_first(tx: Tx, dids: Collection[str]) -> list[str]:
    """The agents, each behind its ancestors."""
    children = await agents.living_among(tx, list(dids))
    return sorted(dids, key=lambda did: (children[did].depth if did in children else 0, did))


async def _keep_suspended(
    tx: Tx, dids: Sequence[str], is_withheld: Mapping[str, bool], administrator: Developer
) -> None:
    """Let nothing stand against these children of suspended agents but that."""
    for did in dids:
        await store.open_suspensions(
            tx, [did], basis="ancestor", soft=not is_withheld[did], reason=OF_ANCESTOR, by=administrator.id
        )
        await store.lift_suspensions_but(tx, did, "ancestor", by=administrator.id)


async def _reinstate_below(tx: Tx, dids: Sequence[str], administrator: Developer, *, soft: bool) -> None:
    """Reinstate the living children of these agents that nothing else suspends."""
    children = await agents.living_children_of(tx, dids)
    if not children:
        return
    is_withheld = await store.lock(tx, children)
    lifted = await store.lift_suspensions_of(tx, children, "ancestor", by=administrator.id)
    others = await store.suspensions_of(tx, children)
    free = [did for did in children if did not in others and (did in lifted or is_withheld[did])]
    await reinstate_each(tx, free, administrator, soft=soft)


async def _record(tx: Tx, status: Mapping[str, Return], restored_dids: Sequence[str], *, soft: bool) -> None:
    day = (await store.today(tx)).isoformat()
    outcome = [
        AgentReinstated(did=did, soft=soft, date=day)
        for did, became in status.items()
        if became == "reinstated" or (became == "already_active" and did in restored_dids)
    ]
    if outcome:
        await journal.append(tx, *outcome)
        await record_statuses(tx, [event.did for event in outcome], "active", day)


async def hard_suspensions_at(tx: Tx, dids: Sequence[str], timestamp: datetime) -> list[HardSuspension]:
    """The hard suspensions of these agents that were in force at a timestamp, in the order in which they began."""
    return await store.hard_suspensions_at(tx, dids, timestamp)
