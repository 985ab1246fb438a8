"""The contractor approves what was submitted: it is paid in the commit that says so."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial

from hansa.foundation.plumbing.caller import Agent
from hansa.foundation.plumbing.database import Tx
from hansa.foundation.plumbing.settings import Settings
from hansa.rooms import agents

from . import paying, recorded, rules, store
from .contract import Contract, Payment, Status
from .moves import Act, move, require_in_time, take
from .reading import ContractShown


@dataclass(frozen=True)
class Approval:
    """Which milestone is approved; None is the one submitted. A payment token pays it instead of a transfer."""

    milestone: int | None
    consent: paying.Consent
    payment_token: str | None = field(default=None, repr=False)


async def approve(
    tx: Tx, agent: Agent, contract_id: int, approval: Approval, settings: Settings
) -> ContractShown | agents.Approval:
    """Pay and approve what was submitted, or ask the agent's owner about the payment.

    Raises: ContractUnknown, WrongParty, WrongState, DeadlinePassed, MilestoneNotNext, what `paying.pay_part` and
    `paying.settle_token` raise, and what a spend policy refuses with.
    """
    contract = await take(tx, contract_id)
    rules.require_contractor(contract, agent.did)
    rules.require_state(contract, Status.SUBMITTED)
    await require_in_time(tx, contract)
    rules.require_next(contract, approval.milestone)
    if approval.payment_token is not None:
        settling = partial(paying.settle_token, secret=approval.payment_token, settings=settings)
        return await approve_once_paid(tx, contract, settling, agent.did)
    if agent.is_governed and not contract.funded and not contract.auto_approve:
        assert contract.provider_did is not None
        asked = await paying.clear(
            tx, agent, contract.provider_did, contract.part, consent=approval.consent, settings=settings
        )
        if asked is not None:
            return asked
    return await approve_once_paid(tx, contract, partial(paying.pay_part, settings=settings), agent.did)


async def approve_once_paid(
    tx: Tx, contract: Contract, pay: Callable[[Tx, Contract], Awaitable[Payment]], actor: str | None
) -> ContractShown:
    """Pay the submitted part and write that it is approved. Raises: what `pay` raises."""
    # Read before the payment, which keeps the account of the fees locked until the commit.
    counts = await _counts(tx, contract)
    payment = await pay(tx, contract)
    after = rules.approved(contract, payment)
    milestone = contract.current.index if contract.current else None
    if after.status == Status.COMPLETED:
        event = recorded.completed(after, counts=counts)
    else:
        assert milestone is not None
        event = recorded.milestone_approved(after, milestone, payment)
    return await move(tx, contract, after, Act("approved", actor, milestone), event)


async def _counts(tx: Tx, contract: Contract) -> bool:
    """Whether the job counts toward the records of the two, once its last part is paid."""
    assert contract.provider_did is not None
    return contract.is_last_part and await store.counts(tx, contract.contractor_did, contract.provider_did)
