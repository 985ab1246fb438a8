"""The acts of a contract over HTTP."""

from collections.abc import Awaitable, Callable
from typing import Annotated

from fastapi import APIRouter, Depends, Path
from fastapi.responses import Response

from hansa.foundation.plumbing import idempotency
from hansa.foundation.plumbing.bodies import BodyInvalid, GuardedRoute
from hansa.foundation.plumbing.caller import (
    Agent,
    CurrentAgent,
    PermissionMissing,
    agent_holding,
)
from hansa.foundation.plumbing.database import Database, Tx
from hansa.foundation.plumbing.idempotency import (
    IdempotencyKey,
    KeyInProgress,
    KeyReused,
    Repeatable,
    answer_once,
)
from hansa.foundation.plumbing.limits import WriteLimit
from hansa.foundation.plumbing.problem_docs import problems
from hansa.foundation.plumbing.runtime import Config, Db
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.values.errors import Forbidden, Invalid, Refused, TooManyRequests, Unauthorized
from hansa.foundation.values.request_body import RequestBody
from hansa.rooms import agents, ledger
from hansa.rooms.commerce.bonds import BOND_ADMITS, BondAdmits
from hansa.rooms.commerce.payments.errors import (
    SettlementInProgress,
    TokenExpired,
    TokenMismatch,
    TokenStatus,
    TokenUnknown,
)

from . import errors
from .accept import accept
from .approve import Approval, approve
from .contract import Contract
from .ending import cancel, mark_failed
from .paying import PERMISSION, Consent
from .propose import Proposal, propose
from .reading import ContractShown, shown
from .schemas import (
    ApprovalIn,
    ContractIn,
    ContractOut,
    NoteIn,
    ReasonIn,
    SubmissionIn,
)
from .work import Submission, request_changes, submit

BIGINT_MAX = 2**63 - 1

router = APIRouter(prefix="/contracts", tags=["contracts"], route_class=GuardedRoute)

ContractId = Annotated[int, Path(ge=1, le=BIGINT_MAX)]
AdmittedByBond = Annotated[BondAdmits, Depends(BOND_ADMITS.given)]
PayingAgent = Annotated[Agent, agent_holding(PERMISSION)]

_EVERY_ACT: tuple[type[Refused], ...] = (
    Unauthorized,
    Forbidden,
    errors.WrongParty,
    errors.ContractUnknown,
    errors.WrongState,
    errors.DeadlinePassed,
    Invalid,
    BodyInvalid,
    KeyReused,
    KeyInProgress,
    TooManyRequests,
)
_SPEND_POLICY: tuple[type[Refused], ...] = (
    PermissionMissing,
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
        errors.OwnContract,
        Forbidden,
        *_SPEND_POLICY,
        errors.ProviderUnknown,
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
    config: Config,
    db: Db,
    *,
    writes: WriteLimit,
    key: IdempotencyKey = None,
) -> Response:
    """Propose a contract to one provider, or, without `provider_did`, to every agent."""
    await writes.admit(agent.did)
    request = _repeatable(agent, "/contracts", key, body)
    scope = request.scope if request else None
    proposal = Proposal(body.proposed_by(agent.did), body.approval_id, scope)

    async def proposed(tx: Tx) -> Contract | agents.Approval:
        return await propose(tx, agent, proposal, config)

    answer = await _once(db, request, proposed, config)
    answer.status_code = 201
    return answer


@router.post(
    "/{contract_id}/accept",
    response_model=ContractOut,
    responses=problems(
        *_EVERY_ACT, errors.OwnContract, errors.BondRequired, errors.ContractUnfunded, ledger.AccountSuspended
    ),
)
async def accept_contract(
    contract_id: ContractId,
    agent: CurrentAgent,
    config: Config,
    db: Db,
    bond_admits: AdmittedByBond,
    *,
    writes: WriteLimit,
    key: IdempotencyKey = None,
) -> Response:
    """Accept a proposal as its provider; of an open proposal the first agent that accepts is the provider."""
    await writes.admit(agent.did)
    request = Repeatable(agent.did, f"/contracts/{contract_id}/accept", key, None) if key else None
    return await _once(db, request, lambda tx: accept(tx, agent, contract_id, config, bond_admits), config)


@router.post(
    "/{contract_id}/submit",
    response_model=ContractOut,
    responses=problems(*_EVERY_ACT, errors.MilestoneNotNext, errors.TooManySubmissions),
)
async def submit_work(
    contract_id: ContractId,
    agent: CurrentAgent,
    config: Config,
    db: Db,
    *,
    writes: WriteLimit,
    body: SubmissionIn | None = None,
    key: IdempotencyKey = None,
) -> Response:
    """Submit the work, or the next milestone of it."""
    await writes.admit(agent.did)
    given = body or SubmissionIn()
    deliverable = given.deliverable.model_dump() if given.deliverable else None
    submission = Submission(deliverable, given.milestone)
    request = _repeatable(agent, f"/contracts/{contract_id}/submit", key, given)
    return await _once(db, request, lambda tx: submit(tx, agent, contract_id, submission), config)


@router.post("/{contract_id}/request-changes", response_model=ContractOut, responses=problems(*_EVERY_ACT))
async def request_contract_changes(
    contract_id: ContractId,
    agent: CurrentAgent,
    config: Config,
    db: Db,
    *,
    writes: WriteLimit,
    body: NoteIn | None = None,
    key: IdempotencyKey = None,
) -> Response:
    """Return what was submitted to the provider."""
    await writes.admit(agent.did)
    given = body or NoteIn()
    request = _repeatable(agent, f"/contracts/{contract_id}/request-changes", key, given)
    return await _once(db, request, lambda tx: request_changes(tx, agent, contract_id, given.note), config)


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
        SettlementInProgress,
        TokenStatus,
        TokenExpired,
        ledger.HoldEnded,
        ledger.HoldExpired,
    ),
)
async def approve_completion(
    contract_id: ContractId,
    agent: PayingAgent,
    config: Config,
    db: Db,
    *,
    writes: WriteLimit,
    body: ApprovalIn | None = None,
    key: IdempotencyKey = None,
) -> Response:
    """Approve what was submitted; it is paid in the same commit."""
    await writes.admit(agent.did)
    given = body or ApprovalIn()
    request = _repeatable(agent, f"/contracts/{contract_id}/approve-completion", key, given)
    consent = Consent(given.approval_id, request.scope if request else None)
    approval = Approval(given.milestone, consent, given.payment_token)
    return await _once(db, request, lambda tx: approve(tx, agent, contract_id, approval, config), config)


@router.post("/{contract_id}/mark-failed", response_model=ContractOut, responses=problems(*_EVERY_ACT))
async def mark_contract_failed(
    contract_id: ContractId,
    agent: CurrentAgent,
    config: Config,
    db: Db,
    *,
    writes: WriteLimit,
    body: ReasonIn | None = None,
    key: IdempotencyKey = None,
) -> Response:
    """Declare that the contract has failed. After a submission, what is held stays so until the time for a dispute ends."""
    await writes.admit(agent.did)
    given = body or ReasonIn()
    request = _repeatable(agent, f"/contracts/{contract_id}/mark-failed", key, given)
    return await _once(
        db, request, lambda tx: mark_failed(tx, agent, contract_id, given.reason, config), config
    )


@router.post("/{contract_id}/cancel", response_model=ContractOut, responses=problems(*_EVERY_ACT))
async def cancel_contract(
    contract_id: ContractId,
    agent: CurrentAgent,
    config: Config,
    db: Db,
    *,
    writes: WriteLimit,
    body: ReasonIn | None = None,
    key: IdempotencyKey = None,
) -> Response:
    """Withdraw a proposal that is not accepted yet."""
    await writes.admit(agent.did)
    given = body or ReasonIn()
    request = _repeatable(agent, f"/contracts/{contract_id}/cancel", key, given)
    return await _once(db, request, lambda tx: cancel(tx, agent, contract_id, given.reason), config)


def _repeatable(agent: Agent, route: str, key: str | None, body: RequestBody) -> Repeatable | None:
    return Repeatable(agent.did, route, key, body.model_dump(mode="json")) if key else None


async def _once(
    db: Database,
    request: Repeatable | None,
    act: Callable[[Tx], Awaitable[Contract | agents.Approval]],
    settings: Settings,
) -> Response:
    """Carry out an act once. What waits for the agent's owner leaves its key free, and is refused. Raises: PaymentNeedsApproval."""

    async def recalled_or_done(tx: Tx) -> tuple[str, bool] | agents.Approval:
        if request is not None and (kept := await idempotency.recall(tx, request)) is not None:
            return kept, True
        contract = await act(tx)
        if isinstance(contract, agents.Approval):
            return contract
        told: ContractShown = await shown(tx, contract)
        answer = ContractOut.of(told, settings.trust_domain).model_dump_json()
        if request is not None:
            await idempotency.remember(tx, request, answer)
        return answer, False

    outcome = await db.act(recalled_or_done)
    if isinstance(outcome, agents.Approval):
        raise errors.PaymentNeedsApproval(
            context={"approval_id": str(outcome.id), "expires_at": outcome.expires_at.isoformat()}
        )
    answer, replayed = outcome
    return answer_once(answer, replayed=replayed)
