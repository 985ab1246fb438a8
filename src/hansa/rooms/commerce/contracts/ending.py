"""A contract ends without completion: the contractor rejects it or withdraws its proposal."""

from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Agent

from . import events, paying, rules
from .contract import UNDER_WAY, Contract, Ending, Status
from .reading import ContractShown
from .transitions import Act, move, require_in_time, take
from .window import dispute_window


async def mark_failed(
    tx: Tx, agent: Agent, contract_id: int, reason: str | None, settings: Settings
) -> ContractShown:
    """Declare failure. The held units are free at once, or after the time for a dispute when work was submitted.

    Raises: ContractUnknown, WrongParty, WrongState, DeadlinePassed.
    """
    contract = await take(tx, contract_id)
    rules.require_contractor(contract, agent.did)
    rules.require_state(contract, *UNDER_WAY)
    await require_in_time(tx, contract)
    return await fail(tx, contract, Ending.REJECTED, Act("marked_failed", agent.did, note=reason), settings)


async def cancel(tx: Tx, agent: Agent, contract_id: int, reason: str | None) -> ContractShown:
    """Withdraw a proposal. Raises: ContractUnknown, WrongParty, WrongState, DeadlinePassed."""
    contract = await take(tx, contract_id)
    rules.require_contractor(contract, agent.did)
    rules.require_state(contract, Status.PROPOSED)
    await require_in_time(tx, contract)
    return await withdraw(
        tx, contract, Status.CANCELLED, Ending.CANCELLED, Act("cancelled", agent.did, note=reason)
    )


async def fail(tx: Tx, contract: Contract, because: Ending, act: Act, settings: Settings) -> ContractShown:
    """Write a failure, and free the hold unless it is kept for a dispute."""
    after = rules.failed(contract, because, await dispute_window(tx, contract, settings))
    if after.hold_release_at is None:
        await paying.free_hold(tx, contract, settings)
    return await move(tx, contract, after, act, events.ended(after))


async def withdraw(tx: Tx, contract: Contract, status: Status, because: Ending, act: Act) -> ContractShown:
    """Write the end of a proposal."""
    after = rules.withdrawn(contract, status, because)
    return await move(tx, contract, after, act, events.ended(after))
