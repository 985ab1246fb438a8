"""A provider accepts a proposal. The amount of a funded one is held from that commit on."""

from dataclasses import replace
from datetime import timedelta

from hansa.foundation.plumbing.caller import Agent
from hansa.foundation.plumbing.database import Tx
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.values.errors import Forbidden
from hansa.rooms import agents, ledger
from hansa.rooms.commerce.bonds import BondAdmits

from . import recorded, rules
from .contract import Contract
from .errors import BondRequired, ContractUnfunded
from .moves import Act, move, require_in_time, take
from .paying import OWNER_KIND
from .reading import ContractShown

HOLD_MARGIN = timedelta(days=1)
BONDED_VERSION = 2


async def accept(
    tx: Tx, agent: Agent, contract_id: int, settings: Settings, bond_admits: BondAdmits
) -> ContractShown:
    """Accept; of an open proposal the first to accept becomes the provider.

    Raises: ContractUnknown, WrongParty, OwnContract, WrongState, DeadlinePassed, BondRequired, ContractUnfunded,
    AccountSuspended.
    """
    contract = await take(tx, contract_id)
    rules.require_acceptable(contract, agent.did)
    await require_in_time(tx, contract)
    # Locked, so that the agent does not end while the contract binds it.
    owned = await agents.lock_owner_and_status(tx, agent.did)
    if owned is None or owned[1] != "active":
        raise Forbidden("The agent is not active.")
    if contract.version == BONDED_VERSION and not await bond_admits(tx, agent.did, settings):
        raise BondRequired
    accepted = rules.accepted(contract, agent.did)
    if contract.funded:
        accepted = replace(accepted, hold_id=await _hold(tx, accepted, settings))
    return await move(tx, contract, accepted, Act("accepted", agent.did), recorded.accepted(accepted))


async def _hold(tx: Tx, contract: Contract, settings: Settings) -> int:
    assert contract.review_by is not None
    window = timedelta(hours=settings.dispute_window_hours)
    held_for = ledger.NewHold(
        OWNER_KIND, str(contract.id), contract.provider_did, contract.review_by + window + HOLD_MARGIN
    )
    order = ledger.HoldOrder(contract.contractor_did, contract.amount, held_for)
    try:
        result = await ledger.open_hold(tx, order, ledger.Book.of(settings))
    except ledger.InsufficientBalance as short:
        raise ContractUnfunded(context=short.context) from None
    assert result.hold_id is not None
    return result.hold_id
