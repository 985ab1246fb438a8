"""Decisions of administrators on proposals and parameters over HTTP."""

from typing import Annotated

from fastapi import APIRouter, Path
from fastapi.responses import Response

from hansa.foundation.plumbing import parameters
from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.bodies import BodyInvalid, GuardedRoute
from hansa.foundation.plumbing.web.caller import admin_holding
from hansa.foundation.plumbing.web.idempotency import KeyInProgress, KeyReused
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import Invalid, Refused, Unauthorized
from hansa.rooms import organizations

from .administering import apply, decline, reset, veto
from .errors import ProposalUnknown, WrongExecution
from .routes import ProposalId
from .schemas import GovernanceProposalOut, GovernanceReasonIn, ParameterOut

NAME_MAX = 64

admin_router = APIRouter(prefix="/admin/governance", tags=["administrators"], route_class=GuardedRoute)

SentByPlatform = Annotated[organizations.Repeating, organizations.sent_by(admin_holding("admin_platform"))]
Name = Annotated[str, Path(max_length=NAME_MAX)]

_DECIDING: tuple[type[Refused], ...] = (
    Unauthorized,
    ProposalUnknown,
    WrongExecution,
    KeyReused,
    KeyInProgress,
    Invalid,
    BodyInvalid,
)


@admin_router.post(
    "/proposals/{proposal_id}/apply",
    response_model=GovernanceProposalOut,
    responses=problems(*_DECIDING),
)
async def apply_proposal(
    proposal_id: ProposalId, body: GovernanceReasonIn, sent: SentByPlatform, db: Db, config: Config
) -> Response:
    """Let a passed change of policy take effect after GOVERNANCE_DELAY_HOURS. One that is out of date becomes `STALE`."""

    async def applied(tx: Tx) -> GovernanceProposalOut:
        return GovernanceProposalOut.of(await apply(tx, sent.developer, proposal_id, body.reason, config))

    return await sent.answer(db, applied, body)


@admin_router.post(
    "/proposals/{proposal_id}/decline",
    response_model=GovernanceProposalOut,
    responses=problems(*_DECIDING),
)
async def decline_proposal(
    proposal_id: ProposalId, body: GovernanceReasonIn, sent: SentByPlatform, db: Db
) -> Response:
    """End a passed change of policy that waits for a decision; the reason is public."""

    async def declined(tx: Tx) -> GovernanceProposalOut:
        return GovernanceProposalOut.of(await decline(tx, sent.developer, proposal_id, body.reason))

    return await sent.answer(db, declined, body)


@admin_router.post(
    "/proposals/{proposal_id}/veto",
    response_model=GovernanceProposalOut,
    responses=problems(*_DECIDING, parameters.ParameterUnderWay),
)
async def veto_proposal(
    proposal_id: ProposalId, body: GovernanceReasonIn, sent: SentByPlatform, db: Db
) -> Response:
    """Cancel an open proposal, or withdraw a scheduled change up to a minute before its moment; the reason is public."""

    async def vetoed(tx: Tx) -> GovernanceProposalOut:
        return GovernanceProposalOut.of(await veto(tx, sent.developer, proposal_id, body.reason))

    return await sent.answer(db, vetoed, body)


@admin_router.post(
    "/parameters/{name}/reset",
    response_model=ParameterOut,
    responses=problems(
        Unauthorized,
        parameters.ParameterUnknown,
        parameters.ParameterNotGoverned,
        parameters.ParameterUnderWay,
        parameters.ParameterCombinationRefused,
        KeyReused,
        KeyInProgress,
        Invalid,
        BodyInvalid,
    ),
)
async def reset_parameter(
    name: Name, body: GovernanceReasonIn, sent: SentByPlatform, db: Db, config: Config
) -> Response:
    """Give a parameter back to the environment or its default, a minute from now. Scheduled changes of it become `STALE`."""

    async def done(tx: Tx) -> ParameterOut:
        return ParameterOut.of(await reset(tx, sent.developer, name, body.reason, config))

    return await sent.answer(db, done, body)
