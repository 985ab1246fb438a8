"""An agent with open contracts, or open disputes about a payment, does not end, nor does the account of its developer."""

from collections.abc import Mapping

from hansa.foundation.plumbing.room import AccountEnd, Blocker
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.joined_reads import read_together
from hansa.foundation.values.money import Minor
from hansa.rooms import agents, transfers
from hansa.rooms.commerce import contracts

from . import store
from .errors import AgentHasDisputes


async def require_unbound(tx: Tx, did: str) -> None:
    """Nothing binds the agent, which the caller has locked.

    Raises: contracts.AgentHasContracts, AgentHasDisputes, transfers.AgentHoldsWrapped.
    """
    await transfers.require_no_wrapped(tx, did)
    await contracts.require_unbound(tx, did)
    if count := (await store.count_keeping(tx, [did])).get(did):
        raise AgentHasDisputes(context={"open_disputes": count})


async def open_disputes_of(tx: Tx, did: str) -> int:
    """How many open disputes, from the minimum on, keep an agent from ending."""
    return await store.count_binding(tx, did)


async def disputed_of(tx: Tx, did: str) -> Minor:
    """Units of an agent's bond that its open disputes keep."""
    return await store.blocked(tx, did)


async def _blockers(tx: Tx, agents_of_developer: Mapping[str, str]) -> list[Blocker]:
    of_contracts, counts = await read_together(
        tx,
        lambda tx: contracts.ACCOUNT_END_OF_CONTRACTS.blockers(tx, agents_of_developer),
        lambda tx: store.count_keeping(tx, list(agents_of_developer)),
    )
    detail = "Wait until its disputes and the awards to it are decided."
    return [*of_contracts] + [Blocker("disputes", did, str(count), detail) for did, count in counts.items()]


async def _end(tx: Tx, developer_id: int) -> None:
    """Raises: contracts.AgentHasContracts, AgentHasDisputes, transfers.AgentHoldsWrapped."""
    await contracts.ACCOUNT_END_OF_CONTRACTS.end(tx, developer_id)
    for agent in await agents.of_developer(tx, developer_id):
        await require_unbound(tx, agent.did)


ACCOUNT_END = AccountEnd(_blockers, _end)
