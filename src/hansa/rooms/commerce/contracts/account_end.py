"""An agent with open contracts does not end, nor does the account of its developer."""

from hansa.foundation.plumbing.room import AccountEnd, Blocker
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import agents

from . import store
from .errors import AgentHasContracts
from .replicas.binding import count_binding_abroad


async def require_unbound(tx: Tx, did: str) -> None:
    """No contract binds the agent, which the caller has locked. Raises: AgentHasContracts."""
    if count := await store.count_binding(tx, did) + await count_binding_abroad(tx, did):
        raise AgentHasContracts(context={"open_contracts": count})


async def _blockers(tx: Tx, developer_id: int) -> list[Blocker]:
    found = []
    for agent in await agents.of_developer(tx, developer_id):
        if count := await store.count_binding(tx, agent.did):
            detail = "Cancel its proposals, and complete or end its contracts."
            found.append(Blocker("contracts", agent.did, str(count), detail))
        if count := await count_binding_abroad(tx, agent.did):
            detail = "Complete or end its contracts that other registries keep."
            found.append(Blocker("contracts", agent.did, str(count), detail))
    return found


async def _end(tx: Tx, developer_id: int) -> None:
    """Raises: AgentHasContracts."""
    for agent in await agents.of_developer(tx, developer_id):
        # Locked, so that it makes no contract before it ends.
        await agents.lock_status(tx, agent.did)
        await require_unbound(tx, agent.did)


ACCOUNT_END_OF_CONTRACTS = AccountEnd(_blockers, _end)
