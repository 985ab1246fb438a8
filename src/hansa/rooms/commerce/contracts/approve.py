"""The contractor approves the submitted work: it is paid in the commit of the approval."""

from dataclasses import dataclass, field
from functools import partial

from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Agent
from hansa.foundation.values.errors import Invalid
from hansa.rooms import agents, transfers

from . import cross_registry_payment as paying_across
from . import paying, rules
from .approved import approve_once_paid
from .contract import Contract, Status
from .reading import ContractShown
from .transitions import require_in_time, take

NO_CONSENT = paying.Consent()


@dataclass(frozen=True)
class Approval:
    """Milestone to approve; None is the submitted one. A payment token pays it instead of a transfer."""

    milestone: int | None
    consent: paying.Consent = NO_CONSENT
    payment_token: str | None = field(default=None, repr=False)


async def approve(
    tx: Tx, agent: Agent, contract_id: int, approval: Approval, runtime: Runtime
) -> ContractShown | agents.Approval:
    """Pay and approve the submitted work, or ask the agent's owner about the payment.

    A provider of another registry is paid by a crossing: the contract stays SUBMITTED until that is decided.

    Raises: ContractUnknown, WrongParty, WrongState, PaymentUnderWay, DeadlinePassed, MilestoneNotNext, the refusals of a
    spend policy, and the errors of `paying.pay_part`, `paying.settle_token` or `cross_registry_payment.begin`.
    """
    settings = runtime.settings
    contract = await take(tx, contract_id)
    rules.require_contractor(contract, agent.did)
    rules.require_state(contract, Status.SUBMITTED)
    await require_in_time(tx, contract)
    rules.require_next(contract, approval.milestone)
    assert contract.provider_did is not None
    if agent.grant is not None and approval.payment_token is not None:
        raise Invalid("A connected client approves without a payment token.", field="payment_token")
    if await transfers.is_foreign(tx, contract.provider_did, settings):
        return await _approve_across(tx, agent, contract, approval, runtime)
    if approval.payment_token is not None:
        settling = partial(paying.settle_token, secret=approval.payment_token, settings=settings)
        return await approve_once_paid(tx, contract, settling, agent.did)
    if rules.is_budgeted(contract, is_governed=agent.is_governed, grant_id=agent.grant_id):
        asked = await paying.clear(
            tx,
            agent,
            contract.provider_did,
            contract.part,
            consent=approval.consent,
            settings=settings,
            is_bound=rules.is_bound(contract),
        )
        if asked is not None:
            return asked
    return await approve_once_paid(tx, contract, partial(paying.pay_part, settings=settings), agent.did)


async def _approve_across(
    tx: Tx, agent: Agent, contract: Contract, approval: Approval, runtime: Runtime
) -> ContractShown | agents.Approval:
    paid = await paying_across.approve_if_paid(tx, contract, agent.did)
    if paid is not None:
        return paid
    scope = approval.consent.request_scope
    if approval.payment_token is not None:
        approver = paying_across.Approver(agent.did, request_scope=scope)
        return await paying_across.begin_with_token(tx, contract, approval.payment_token, approver, runtime)
    held = paying_across.UNBUDGETED
    if rules.is_budgeted(contract, is_governed=agent.is_governed, grant_id=agent.grant_id):
        assert contract.provider_did is not None
        payment = paying.payment_of(
            contract.provider_did,
            contract.part,
            approval.consent,
            runtime.settings,
            is_bound=rules.is_bound(contract),
        )
        counted = await agents.hold_budget(tx, agent, payment, runtime.settings)
        if counted is None:
            return await agents.ask_owner(tx, agent, payment)
        held = counted
    approver = paying_across.Approver(agent.did, held, scope)
    return await paying_across.begin(tx, contract, approver, runtime)
