"""Reinstate agents: their suspensions are lifted, and the withheld identity and account are restored."""

from collections.abc import Mapping, Sequence

from hansa.foundation.events import AgentReinstated
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.admin_acts import record_admin_act
from hansa.foundation.plumbing.web.caller import Developer
from hansa.rooms import agents, journal

from . import effects, store
from .published import record_statuses
from .rules import Restored, Return


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
    """Lift whatever stands against these agents."""
    is_withheld = await store.lock(tx, dids)
    status = {did: await effects.reinstate(tx, did) for did in sorted(is_withheld)}
    lifted = [did for did, outcome in status.items() if outcome not in {"revoked", effects.FAILED}]
    await store.lift_suspensions(tx, lifted, by=administrator.id)
    due = (
        [] if soft else [did for did, outcome in status.items() if is_withheld[did] and outcome != "revoked"]
    )
    identity = {did: await effects.restore_identity(tx, did) for did in due}
    account = await effects.reinstate_accounts(tx, due)
    restored_dids = [
        did for did in due if identity[did] != effects.FAILED and account.get(did) != effects.FAILED
    ]
    await store.withhold_no_more(tx, restored_dids)
    await _record(tx, status, restored_dids, soft=soft)
    return {
        did: Restored(did, status[did], identity.get(did, "skipped"), account.get(did, "skipped"))
        for did in status
    }


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
