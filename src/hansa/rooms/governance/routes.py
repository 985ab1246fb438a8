"""Governance over HTTP."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Request
from fastapi.responses import Response

from hansa.foundation.plumbing import parameters
from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.bodies import BodyInvalid, GuardedRoute
from hansa.foundation.plumbing.web.caller import Agent, CurrentAgent, Public, agent_holding
from hansa.foundation.plumbing.web.idempotency import (
    IdempotencyKey,
    KeyInProgress,
    KeyReused,
    answer_once,
    once,
    repeatable,
)
from hansa.foundation.plumbing.web.limits import WriteLimit, within_read_limit
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import Forbidden, Invalid, Refused, TooManyRequests, Unauthorized
from hansa.foundation.values.paging import Page, Pagination
from hansa.rooms import ledger

from .errors import (
    AlreadyVoted,
    GovernanceDisabled,
    NotTheProposer,
    NoWeight,
    OthersVoted,
    ProposalNotOpen,
    ProposalUnknown,
    TooManyProposals,
    VotingUnderWay,
    WeightTooSmall,
)
from .proposing import cancel, propose
from .reading import read_power, read_proposal, read_proposals, read_votes
from .schemas import (
    GovernanceProposalIn,
    GovernanceProposalOut,
    GovernanceVoteIn,
    GovernanceVoteOut,
    ParameterOut,
    ParametersOut,
    VotingPowerOut,
)
from .tallying import tally
from .voting import VOTES, Votes

PAGE_DEFAULT, PAGE_MAX = 20, 100
OFFSET_MAX = 2**31 - 1
BIGINT_MAX = 2**63 - 1

router = APIRouter(prefix="/governance", tags=["governance"], route_class=GuardedRoute)

ProposalId = Annotated[int, Path(ge=1, le=BIGINT_MAX)]
Limit = Annotated[int, Query(ge=1, le=PAGE_MAX)]
Offset = Annotated[int, Query(ge=0, le=OFFSET_MAX)]
Proposer = Annotated[Agent, agent_holding("governance.propose")]
Voter = Annotated[Agent, agent_holding("governance.vote")]
Governor = Annotated[Agent, agent_holding("governance.vote", or_permission="governance.propose")]
VotesOfProcess = Annotated[Votes, Depends(VOTES.given)]

_ACTING: tuple[type[Refused], ...] = (
    Unauthorized,
    Forbidden,
    KeyReused,
    KeyInProgress,
    TooManyRequests,
    Invalid,
)
_READING: tuple[type[Refused], ...] = (Invalid, TooManyRequests)


@router.post(
    "/proposals",
    status_code=201,
    response_model=GovernanceProposalOut,
    responses=problems(
        *_ACTING,
        GovernanceDisabled,
        NoWeight,
        WeightTooSmall,
        TooManyProposals,
        parameters.ParameterUnknown,
        parameters.ParameterValueInvalid,
        parameters.ParameterCombinationRefused,
        parameters.ParameterStale,
        ledger.AccountSuspended,
        ledger.AccountUnknown,
        BodyInvalid,
    ),
)
async def make_proposal(
    body: GovernanceProposalIn,
    agent: Proposer,
    request: Request,
    config: Config,
    db: Db,
    *,
    writes: WriteLimit,
    key: IdempotencyKey = None,
) -> Response:
    """Propose something on which agents vote with their stakes."""
    await writes.admit(agent.did)

    async def made(tx: Tx) -> GovernanceProposalOut:
        return GovernanceProposalOut.of(await propose(tx, agent, body.proposal(), config))

    answer = await once(db, repeatable(agent, request, key, body), made)
    answer.status_code = 201
    return answer


@router.get("/proposals", dependencies=[Depends(within_read_limit)], responses=problems(*_READING))
async def list_proposals(
    _: Public,
    db: Db,
    *,
    include_closed: Annotated[bool, Query(description="Return ended ones as well.")] = False,
    limit: Limit = PAGE_DEFAULT,
    offset: Offset = 0,
) -> Page[GovernanceProposalOut]:
    """The open proposals, the newest first."""
    found, total = await db.read(
        lambda tx: read_proposals(tx, with_closed=include_closed, limit=limit, offset=offset)
    )
    return Page[GovernanceProposalOut](
        items=[GovernanceProposalOut.of(one) for one in found],
        pagination=Pagination.of(total=total, limit=limit, offset=offset),
    )


@router.get(
    "/proposals/{proposal_id}",
    dependencies=[Depends(within_read_limit)],
    responses=problems(ProposalUnknown, *_READING),
)
async def read_one_proposal(proposal_id: ProposalId, _: Public, db: Db) -> GovernanceProposalOut:
    """One proposal."""
    return GovernanceProposalOut.of(await db.read(lambda tx: read_proposal(tx, proposal_id)))


@router.get(
    "/proposals/{proposal_id}/votes",
    dependencies=[Depends(within_read_limit)],
    responses=problems(ProposalUnknown, *_READING),
)
async def list_votes(
    proposal_id: ProposalId, _: Public, db: Db, limit: Limit = PAGE_DEFAULT, offset: Offset = 0
) -> Page[GovernanceVoteOut]:
    """The votes on a proposal, the newest first."""
    found, total = await db.read(lambda tx: read_votes(tx, proposal_id, limit=limit, offset=offset))
    return Page[GovernanceVoteOut](
        items=[GovernanceVoteOut.of(one) for one in found],
        pagination=Pagination.of(total=total, limit=limit, offset=offset),
    )


@router.post(
    "/proposals/{proposal_id}/vote",
    response_model=GovernanceVoteOut,
    responses=problems(
        *_ACTING,
        GovernanceDisabled,
        NoWeight,
        ProposalUnknown,
        ProposalNotOpen,
        AlreadyVoted,
        ledger.AccountSuspended,
        ledger.AccountUnknown,
        BodyInvalid,
    ),
)
async def vote_on_proposal(
    proposal_id: ProposalId,
    body: GovernanceVoteIn,
    agent: Voter,
    request: Request,
    votes: VotesOfProcess,
    *,
    writes: WriteLimit,
    key: IdempotencyKey = None,
) -> Response:
    """Vote, once. The weight stays staked until the vote on the proposal has ended."""
    await writes.admit(agent.did)
    answer = await votes.cast(body.ballot(proposal_id, agent.did), repeatable(agent, request, key, body))
    return answer_once(answer.text, replayed=answer.replayed)


@router.post(
    "/proposals/{proposal_id}/tally",
    response_model=GovernanceProposalOut,
    responses=problems(*_ACTING, GovernanceDisabled, ProposalUnknown, VotingUnderWay),
)
async def tally_proposal(
    proposal_id: ProposalId,
    agent: Governor,
    request: Request,
    config: Config,
    db: Db,
    *,
    writes: WriteLimit,
    key: IdempotencyKey = None,
) -> Response:
    """Count a vote whose time has ended; the registry does so by itself as well. A repetition returns the same."""
    await writes.admit(agent.did)

    async def counted(tx: Tx) -> GovernanceProposalOut:
        return GovernanceProposalOut.of(await tally(tx, proposal_id, config))

    return await once(db, repeatable(agent, request, key), counted)


@router.post(
    "/proposals/{proposal_id}/cancel",
    response_model=GovernanceProposalOut,
    responses=problems(*_ACTING, NotTheProposer, ProposalUnknown, ProposalNotOpen, OthersVoted),
)
async def cancel_proposal(
    proposal_id: ProposalId,
    agent: Proposer,
    request: Request,
    db: Db,
    *,
    writes: WriteLimit,
    key: IdempotencyKey = None,
) -> Response:
    """Cancel an own proposal before another agent has voted."""
    await writes.admit(agent.did)

    async def cancelled(tx: Tx) -> GovernanceProposalOut:
        return GovernanceProposalOut.of(await cancel(tx, agent, proposal_id))

    return await once(db, repeatable(agent, request, key), cancelled)


@router.get("/parameters", dependencies=[Depends(within_read_limit)], responses=problems(TooManyRequests))
async def list_parameters(_: Public, db: Db, config: Config) -> ParametersOut:
    """The settings that votes may change: their values, sources, bounds and scheduled changes."""
    found = await db.read(lambda tx: parameters.current(tx, config))
    return ParametersOut(items=[ParameterOut.of(one) for one in found])


@router.get("/voting-power", responses=problems(Unauthorized, ledger.AccountUnknown))
async def read_voting_power(agent: CurrentAgent, db: Db) -> VotingPowerOut:
    """The stake of the calling agent, and the part that its votes on open proposals pin."""
    return VotingPowerOut.of(await db.read(lambda tx: read_power(tx, agent.did)))
