"""Revoke suspended agents for good. The units of their accounts stay there, and take part in no transfer."""

from collections.abc import Sequence

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.admin_acts import record_admin_act
from hansa.foundation.plumbing.web.caller import Developer
from hansa.rooms import agents

from . import effects, store
from .rules import End, Ended


async def revoke_agents(tx: Tx, dids: Sequence[str], administrator: Developer, *, reason: str) -> list[Ended]:
    """End the agents; one answer for each DID. An agent that is not suspended is left alone.

    Raises: agents.AgentOfCaller.
    """
    await agents.require_of_others(tx, administrator, dids)
    known = await agents.statuses_of(tx, dids)
    await store.lock(tx, known)
    status = await agents.statuses_of(tx, list(known))
    ending = sorted(did for did in status if status[did] == "suspended")
    await store.withhold(tx, ending)
    identity = {did: await effects.revoke_identity(tx, did) for did in ending}
    ended = {did: await effects.end(tx, did) for did in ending}
    account = await effects.suspend_accounts(tx, ending)
    for did in ending:
        await record_admin_act(tx, administrator, act="agent.revoke", subject=did, reason=reason)
    return [
        Ended(did, ended[did], identity[did], account.get(did, "skipped"))
        if did in ended
        else Ended(did, _left_alone(status.get(did)), "skipped", "skipped")
        for did in dids
    ]


def _left_alone(status: str | None) -> End:
    if status is None:
        return "not_found"
    return "already_revoked" if status == "revoked" else "not_suspended"
