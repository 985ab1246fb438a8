"""An agent with open contracts does not end, nor does the account of its developer."""

from collections.abc import Mapping

from hansa.foundation.plumbing.room import AccountEnd, Blocker
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.joined_reads import read_together
from hansa.rooms import agents

from . import store
from .errors import AgentHasContracts
from .replicas.binding import count_binding_abroad


async def require_unbound(tx: Tx, did: str) -> None:
    """No contract binds the agent, which the caller has locked. Raises: AgentHasContracts."""
    here, abroad = await store.count_binding(tx, [did]), await count_binding_abroad(tx, [did])
    if count := here.get(did, 0) + abroad.get(did, 0):
        raise AgentHasContracts(context={"open_contracts": count})


async def _blockers(tx: Tx, agents_of_developer: Mapping[str, str]) -> list[Blocker]:
    dids = list(agents_of_developer)
    here, abroad = await read_together(
        tx, lambda tx: store.count_binding(tx, dids), lambda tx: count_binding_abroad(tx, dids)
    )
    found = []
    for did in dids:
        for counts, detail in (
            (here, "Cancel its proposals, and complete or end its contracts."),
            (abroad, "Complete or end its contracts that other registries keep."),
        ):
            if count := counts.get(did):
                found.append(Blocker("contracts", did, str(count), detail))
    return found


async def _end(tx: Tx, developer_id: int) -> None:
    """Raises: AgentHasContracts."""
    for agent in await agents.of_developer(tx, developer_id):
        # Locked, so that it makes no contract before it ends.
        await agents.lock_status(tx, agent.did)
        await require_unbound(tx, agent.did)


ACCOUNT_END_OF_CONTRACTS = AccountEnd(_blockers, _end)
