"""Reinstate agents: what stood against them is lifted, and what was withheld is given back."""

from collections.abc import Mapping, Sequence

from hansa.foundation.events import AgentReinstated
from hansa.foundation.plumbing.admin_acts import record_admin_act
from hansa.foundation.plumbing.caller import Developer
from hansa.foundation.plumbing.database import Tx
from hansa.rooms import agents, journal

from . import effects, store
from .rules import Restored, Return


async def reinstate_agents(
    tx: Tx, dids: Sequence[str], administrator: Developer, *, reason: str | None, soft: bool
) -> list[Restored]:
    """Let the agents act again, whatever they were suspended for; one answer for each DID.

    A soft reinstatement leaves withheld what is withheld, until a hard one.
    """
    known = await agents.statuses_of(tx, dids)
    told = await reinstate_each(tx, list(known), administrator, soft=soft)
    for did in told:
        await record_admin_act(tx, administrator, act="agent.reinstate", subject=did, reason=reason)
    return [told.get(did, Restored(did, "not_found", "skipped", "skipped")) for did in dids]


async def reinstate_each(
    tx: Tx, dids: Sequence[str], administrator: Developer, *, soft: bool
) -> dict[str, Restored]:
    """Lift whatever stands against these agents."""
    is_withheld = await store.lock(tx, dids)
    status = {did: await effects.let_act(tx, did) for did in sorted(is_withheld)}
    lifted = [did for did, told in status.items() if told not in {"revoked", effects.FAILED}]
    await store.lift_suspensions(tx, lifted, by=administrator.id)
    due = [] if soft else [did for did, told in status.items() if is_withheld[did] and told != "revoked"]
    identity = {did: await effects.give_identity(tx, did) for did in due}
    account = await effects.give_accounts(tx, due)
    given_back = [
        did for did in due if identity[did] != effects.FAILED and account.get(did) != effects.FAILED
    ]
    await store.withhold_no_more(tx, given_back)
    await _tell(tx, status, given_back, soft=soft)
    return {
        did: Restored(did, status[did], identity.get(did, "skipped"), account.get(did, "skipped"))
        for did in status
    }


async def _tell(tx: Tx, status: Mapping[str, Return], given_back: Sequence[str], *, soft: bool) -> None:
    day = (await store.today(tx)).isoformat()
    told = [
        AgentReinstated(did=did, soft=soft, date=day)
        for did, became in status.items()
        if became == "reinstated" or (became == "already_active" and did in given_back)
    ]
    if told:
        await journal.append(tx, *told)
