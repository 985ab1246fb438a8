"""The acts of a contract over HTTP."""

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Depends, Path
from fastapi.responses import Response

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.bodies import BodyInvalid
from hansa.foundation.plumbing.web.caller import (
    Agent,
    CurrentAgent,
    agent_holding,
)
from hansa.foundation.plumbing.web.direct import DirectRoute
from hansa.foundation.plumbing.web.idempotency import KeyInProgress, KeyReused
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import Forbidden, Invalid, Refused, TooManyRequests, Unauthorized
from hansa.rooms import agents, federation, ledger, transfers
from hansa.rooms.commerce.bonds import BOND_ADMITS, BondAdmits
from hansa.rooms.commerce.payments.errors import (
    CapturedByPayee,
    SettlementInProgress,
    TokenExpired,
    TokenMismatch,
    TokenStatus,
    TokenUnknown,
)

from . import errors
from .accept import accept, judge_acceptance
from .acting import ContractActs, contract_acts
from .approval_batch import APPROVALS, Approvals
from .approve import Approval, approve
from .contract_batch import CONTRACT_BATCH, ContractBatch, PlainMove, PlainProposal, is_plain
from .ending import cancel, mark_failed
from .paying import PERMISSION, Consent
from .propose import Proposal, propose
from .reading import ContractShown
from .schemas import (
    ApprovalIn,
    ContractIn,
    ContractOut,
    NoteIn,
    ReasonIn,
    SubmissionIn,
)
from .work import Submission, judge_submission, request_changes, submit

BIGINT_MAX = 2**63 - 1

router = APIRouter(prefix="/contracts", tags=["contracts"], route_class=DirectRoute)

ContractId = Annotated[int, Path(ge=1, le=BIGINT_MAX)]
AdmittedByBond = Annotated[BondAdmits, Depends(BOND_ADMITS.given)]
Acting = Annotated[ContractActs, Depends(contract_acts)]
ApprovalsOfHere = Annotated[Approvals, Depends(APPROVALS.given)]
ActsTogetherOfHere = Annotated[ContractBatch, Depends(CONTRACT_BATCH.given)]
PayingAgent = Annotated[Agent, agent_holding(PERMISSION)]

_EVERY_ACT: tuple[type[Refused], ...] = (
    Unauthorized,
    Forbidden,
    *errors.ACT_REFUSALS,
    Invalid,
    BodyInvalid,
    KeyReused,
    KeyInProgress,
    TooManyRequests,
)
_SPEND_POLICY: tuple[type[Refused], ...] = (
    errors.PaymentNeedsApproval,
    agents.PayeeNotAllowed,
    agents.OverPaymentLimit,
    agents.OverDayLimit,
    agents.ApprovalForAnother,
    agents.ApprovalUnknown,
    agents.ApprovalUnusable,
    agents.ApprovalsPending,
)


@router.post(
    "",
    status_code=201,
    response_model=ContractOut,
    responses=problems(
        Unauthorized,
        errors.SelfContract,
        Forbidden,
        *_SPEND_POLICY,
        errors.ProviderUnknown,
        federation.FrameUnavailable,
        errors.FundedAcross,
        transfers.CurrencyDiffers,
        federation.AgentBlocked,
        federation.PeerPaused,
        federation.PeerSuspended,
        federation.LicenceRequired,
        errors.TooManyProposals,
        Invalid,
        BodyInvalid,
        errors.TermsInvalid,
        KeyReused,
        KeyInProgress,
        TooManyRequests,
    ),
)
async def propose_contract(
    body: ContractIn,
    agent: PayingAgent,
    acts: Acting,
    shared: ActsTogetherOfHere,
) -> Response:
    """Propose a contract to one provider, or, without `provider_did`, to every agent."""
    act, terms = acts.of(agent, "/contracts", body), body.proposed_by(agent.did)
    proposal = Proposal(terms, body.approval_id, act.scope)
    together = partial(shared.carry_out, PlainProposal(terms), act.request) if is_plain(terms) else None

    async def proposed(tx: Tx) -> ContractShown | agents.Approval:
        return await propose(tx, agent, proposal, acts.config)

    try:
        answer = await act.once(proposed, together)
    except errors.ProviderUnknown:
        # Within one trust domain the DID does not say at which registry the agent is.
        if body.provider_did is None or not await transfers.is_elsewhere(acts.runtime, body.provider_did):
            raise
        answer = await act.once(proposed)
    answer.status_code = 201
    return answer


@router.post(
    "/{contract_id}/accept",
    response_model=ContractOut,
    responses=problems(
        *_EVERY_ACT,
        errors.SelfContract,
        agents.ChildEnding,
        errors.BondRequired,
        errors.TooManyAccepted,
        errors.ContractUnfunded,
        ledger.AccountSuspended,
    ),
)
async def accept_contract(
    contract_id: ContractId,
    agent: CurrentAgent,
    acts: Acting,
    bond_admits: AdmittedByBond,
    shared: ActsTogetherOfHere,
) -> Response:
    """Accept a proposal as its provider; of an open proposal the first agent that accepts is the provider."""
    act = acts.of(agent, f"/contracts/{contract_id}/accept")
    together = PlainMove(contract_id, agent.did, lambda one: judge_acceptance(one, agent.did), binds=True)
    return await act.once(
        lambda tx: accept(tx, agent.did, contract_id, acts.config, bond_admits),
        partial(shared.carry_out, together, act.request),
    )


@router.post(
    "/{contract_id}/submit",
    response_model=ContractOut,
    responses=problems(*_EVERY_ACT, errors.MilestoneNotNext, errors.TooManySubmissions),
)
async def submit_work(
    contract_id: ContractId,
    agent: CurrentAgent,
    acts: Acting,
    shared: ActsTogetherOfHere,
    body: SubmissionIn | None = None,
) -> Response:
    """Submit the work, or the next milestone of it."""
    given = body or SubmissionIn()
    deliverable = given.deliverable.model_dump() if given.deliverable else None
    submission = Submission(deliverable, given.milestone)
    act = acts.of(agent, f"/contracts/{contract_id}/submit", given)
    together = PlainMove(
        contract_id,
        agent.did,
        lambda one: judge_submission(one, agent.did, submission),
        binds=False,
    )
    return await act.once(
        lambda tx: submit(tx, agent.did, contract_id, submission),
        partial(shared.carry_out, together, act.request),
    )


@router.post("/{contract_id}/request-changes", response_model=ContractOut, responses=problems(*_EVERY_ACT))
async def request_contract_changes(
    contract_id: ContractId,
    agent: CurrentAgent,
    acts: Acting,
    body: NoteIn | None = None,
) -> Response:
    """Return what was submitted to the provider."""
    given = body or NoteIn()
    act = acts.of(agent, f"/contracts/{contract_id}/request-changes", given)
    return await act.once(lambda tx: request_changes(tx, agent, contract_id, given.note))


@router.post(
    "/{contract_id}/approve-completion",
    response_model=ContractOut,
    responses=problems(
        *_EVERY_ACT,
        *_SPEND_POLICY,
        ledger.InsufficientBalance,
        ledger.AccountSuspended,
        errors.MilestoneNotNext,
        errors.TokenForFunded,
        TokenUnknown,
        TokenMismatch,
        CapturedByPayee,
        SettlementInProgress,
        TokenStatus,
        TokenExpired,
        ledger.HoldEnded,
        ledger.HoldExpired,
        *transfers.CROSSING_REFUSALS,
    ),
)
async def approve_completion(
    contract_id: ContractId,
    agent: PayingAgent,
    acts: Acting,
    approvals: ApprovalsOfHere,
    body: ApprovalIn | None = None,
) -> Response:
    """Approve what was submitted; it is paid in the same commit, to another registry once its transfer is decided."""
    given = body or ApprovalIn()
    act = acts.of(agent, f"/contracts/{contract_id}/approve-completion", given)
    consent = Consent(given.approval_id, act.scope)
    approval = Approval(given.milestone, consent, given.payment_token)
    gathered = partial(approvals.approve, agent, contract_id, given.milestone, act.request)
    return await act.once(
        lambda tx: approve(tx, agent, contract_id, approval, acts.runtime),
        None if given.payment_token is not None else gathered,
    )


@router.post("/{contract_id}/mark-failed", response_model=ContractOut, responses=problems(*_EVERY_ACT))
async def mark_contract_failed(
    contract_id: ContractId,
    agent: CurrentAgent,
    acts: Acting,
    body: ReasonIn | None = None,
) -> Response:
    """Declare that the contract has failed. After a submission, what is held stays so until the time for a dispute ends."""
    given = body or ReasonIn()
    act = acts.of(agent, f"/contracts/{contract_id}/mark-failed", given)
    return await act.once(lambda tx: mark_failed(tx, agent, contract_id, given.reason, acts.config))


@router.post("/{contract_id}/cancel", response_model=ContractOut, responses=problems(*_EVERY_ACT))
async def cancel_contract(
    contract_id: ContractId,
    agent: CurrentAgent,
    acts: Acting,
    body: ReasonIn | None = None,
) -> Response:
    """Withdraw a proposal that is not accepted yet."""
    given = body or ReasonIn()
    act = acts.of(agent, f"/contracts/{contract_id}/cancel", given)
    return await act.once(lambda tx: cancel(tx, agent, contract_id, given.reason))
