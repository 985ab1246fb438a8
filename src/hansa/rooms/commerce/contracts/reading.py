"""Contracts as their parties, administrators of enforcement, and everyone may read them."""

from collections.abc import Sequence

import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Agent, Developer
from hansa.foundation.values.errors import Forbidden

from . import rules, store
from .contract import Contract
from .errors import ContractUnknown
from .records import HistoryLine

AREA = "admin_enforcement"


class ContractShown(msgspec.Struct, frozen=True):
    """A contract with the lines of its history, oldest first."""

    contract: Contract
    history: Sequence[HistoryLine]


def reader_of(caller: Agent | Developer) -> str | None:
    """The agent that reads; None: an administrator of enforcement, who reads everything. Raises: Forbidden."""
    if isinstance(caller, Agent):
        return caller.did
    if AREA not in caller.areas_in_reach:
        raise Forbidden("Contracts are read by agents and by administrators of enforcement.")
    return None


async def read_contract(tx: Tx, caller: Agent | Developer, contract_id: int) -> ContractShown:
    """One contract. Raises: ContractUnknown, Forbidden."""
    reader = reader_of(caller)
    if reader is not None:
        return await read_contract_as(tx, reader, contract_id)
    contract = await store.find(tx, contract_id)
    if contract is None:
        raise ContractUnknown
    return await shown(tx, contract)


async def read_contract_as(tx: Tx, did: str, contract_id: int) -> ContractShown:
    """One contract as the agent `did` may read it. Raises: ContractUnknown."""
    contract = await store.find(tx, contract_id)
    if contract is None:
        raise ContractUnknown
    rules.require_seen(contract, did)
    return await shown(tx, contract)


async def parties_of(tx: Tx, contract_id: int) -> tuple[str, ...]:
    """The parties of a contract; none of one that does not exist."""
    contract = await store.find(tx, contract_id)
    return () if contract is None else contract.parties


async def shown(tx: Tx, contract: Contract) -> ContractShown:
    """The contract with its history."""
    return ContractShown(contract, await history_of(tx, contract.id))


async def history_of(tx: Tx, contract_id: int) -> Sequence[HistoryLine]:
    """The lines of the history of a contract, oldest first."""
    return (await store.history(tx, [contract_id]))[contract_id]
