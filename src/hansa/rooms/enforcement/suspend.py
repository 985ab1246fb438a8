"""Suspend agents: each is refused from its next request on, in every process."""

from collections.abc import Sequence

from hansa.foundation.events import AgentSuspended
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.admin_acts import record_admin_act
from hansa.foundation.plumbing.web.caller import Developer
from hansa.rooms import agents, journal

from . import effects, store
from .published import record_statuses
from .rules import Basis, Stopped

STOPPED = ("suspended", "already_suspended")


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
    """Suspend these agents for one reason. Every effect is carried out again: one may have failed before."""
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
