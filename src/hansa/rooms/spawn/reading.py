"""Children of an agent with their purses, as its owner and the agent read them."""

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.joined_reads import read_together
from hansa.foundation.plumbing.web.caller import Agent, Developer
from hansa.foundation.values.money import ZERO, Minor
from hansa.foundation.values.rights import Right
from hansa.rooms import agents, catalogue, ledger


class Purse(msgspec.Struct, frozen=True):
    """A child and its units, in minor units; `held` are staked or in escrow."""

    child: agents.Child
    liquid: Minor
    held: Minor


async def children_with_purses(
    tx: Tx,
    caller: Developer | Agent,
    did: str,
    after: str | None = None,
    *,
    limit: int,
) -> list[Purse]:
    """Children of an agent in every state, newest first, those after this one. Raises: AgentUnknown, ChildUnknown, OrgRoleRequired."""
    await agents.require_caller(tx, caller, did, Right.READ)
    return await with_purses(tx, await agents.children_of(tx, did, after, limit=limit))


async def purses_of(tx: Tx, did: str, *, limit: int) -> list[Purse]:
    """The newest children of an agent that the caller may read."""
    return await with_purses(tx, await agents.children_of(tx, did, limit=limit))


async def with_purses(tx: Tx, children: Sequence[agents.Child]) -> list[Purse]:
    """The children under their present names, with their units."""
    dids = [child.did for child in children]
    if not dids:
        return []
    names, balances = await read_together(
        tx,
        lambda tx: catalogue.names_of_agents(tx, dids),
        lambda tx: ledger.balances_of(tx, dids),
    )
    named = [replace(child, name=names.get(child.did, child.name)) for child in children]
    return [_purse(child, balances.get(child.did)) for child in named]


def _purse(child: agents.Child, balance: ledger.Balance | None) -> Purse:
    if balance is None:
        return Purse(child, ZERO, ZERO)
    return Purse(child, balance.liquid, Minor(balance.staked + balance.escrow))
