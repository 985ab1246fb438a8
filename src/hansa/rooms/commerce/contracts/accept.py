"""A provider accepts a proposal. The amount of a funded one is held from that commit on."""

from datetime import datetime, timedelta
from typing import Any

from msgspec.structs import replace

from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.errors import Forbidden
from hansa.foundation.values.money import format_amount
from hansa.rooms import agents, ledger, transfers
from hansa.rooms.commerce.bonds import BondAdmits
from hansa.rooms.commerce.requirement import Required

from . import events, payment_store, rules, store
from .contract import Contract
from .errors import BondRequired, ContractUnfunded, FundedAcross, TooManyAccepted
from .paying import OWNER_KIND
from .reading import ContractShown
from .transitions import Act, Move, move, require_in_time, take
from .window import dispute_window

HOLD_MARGIN = timedelta(days=1)
BONDED_VERSION = 2


async def accept(
    tx: Tx, did: str, contract_id: int, settings: Settings, bond_admits: BondAdmits
) -> ContractShown:
    """Accept as the agent `did`; of an open proposal the first to accept becomes the provider.

    Raises: ContractUnknown, WrongParty, SelfContract, WrongState, DeadlinePassed, ChildEnding, BondRequired, TooManyAccepted, ContractUnfunded,
    AccountSuspended, FundedAcross, and for an agent of another registry the errors of `transfers.require_reachable`.
    """
    contract = await take(tx, contract_id)
    rules.require_acceptable(contract, did)
    await require_in_time(tx, contract)
    abroad = await _require_active(tx, did, settings)
    if contract.funded and abroad is not None:
        raise FundedAcross
    # Read under the lock of the provider: its acceptances at the same moment count each other.
    under_way = await store.open_accepted(tx, did) if contract.required is not None else []
    required = rules.required_of(contract, under_way)
    if contract.version == BONDED_VERSION and not await bond_admits(tx, did, settings, required):
        raise BondRequired(context=_stated(required))
    if len(under_way) >= rules.OPEN_ACCEPTED_MAX:
        raise TooManyAccepted
    accepted = replace(rules.accepted(contract, did), is_across=abroad is not None, provider_registry=abroad)
    if contract.funded:
        accepted = replace(accepted, hold_id=await _hold(tx, accepted, settings))
    return await move(tx, contract, accepted, Act("accepted", did), events.accepted(accepted))


def _stated(required: Required | None) -> dict[str, Any]:
    """The requirement of a proposal as a refusal shows it."""
    if required is None:
        return {}
    bond = None if required.bond is None else format_amount(required.bond)
    fees = None if not required.jobs else format_amount(required.fees)
    return {"provider_bond_min": bond, "provider_jobs_min": required.jobs, "provider_fees_min": fees}


def judge_acceptance(contract: Contract, did: str) -> Move | None:
    """The acceptance by the active agent `did` of this registry; None where it has to be carried out by `accept`.

    Raises: ContractUnknown, WrongParty, SelfContract, WrongState.
    """
    rules.require_acceptable(contract, did)
    if contract.funded or contract.version == BONDED_VERSION:
        return None
    after = rules.accepted(contract, did)
    return Move(contract, after, Act("accepted", did), events.accepted(after))


async def bonded_holds(tx: Tx, since: datetime) -> set[int]:
    """The holds of contracts accepted from a moment on whose providers, agents of this registry, the mode of bonds judges."""
    return await payment_store.holds_of_version(tx, BONDED_VERSION, since)


async def _require_active(tx: Tx, did: str, settings: Settings) -> str | None:
    """The agent may accept now; the ledger id of its registry, None where that is this one. Raises: ChildEnding, Forbidden."""
    # Locked, so that the agent does not end while the contract binds it. What is an agent here needs no other question.
    status = await agents.lock_status(tx, did)
    if status is None and await transfers.is_foreign(tx, did, settings):
        return (await transfers.require_reachable(tx, did, settings)).ledger_id
    if status != "active":
        raise Forbidden("The agent is not active.")
    await agents.require_not_ending(tx, did)
    return None


async def held_for(tx: Tx, contract: Contract, settings: Settings) -> ledger.NewHold:
    """The hold of a funded contract, which lasts until a dispute about the review is too late."""
    assert contract.review_by is not None
    window = await dispute_window(tx, contract, settings)
    return ledger.NewHold(
        OWNER_KIND, str(contract.id), contract.provider_did, contract.review_by + window + HOLD_MARGIN
    )


async def _hold(tx: Tx, contract: Contract, settings: Settings) -> int:
    order = ledger.HoldOrder(contract.contractor_did, contract.amount, await held_for(tx, contract, settings))
    try:
        result = await ledger.open_hold(tx, order, ledger.Book.of(settings))
    except ledger.InsufficientBalance as short:
        raise ContractUnfunded(context=short.context) from None
    assert result.hold_id is not None
    return result.hold_id
