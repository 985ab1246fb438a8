"""Children of agents over HTTP."""

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import Response

from hansa.foundation.plumbing.process.runtime import Config, Db, Sealing, runtime_of
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.bodies import BodyInvalid, GuardedRoute, takes_cards
from hansa.foundation.plumbing.web.caller import (
    Agent,
    Developer,
    PermissionMissing,
    developer_or_agent_holding,
)
from hansa.foundation.plumbing.web.idempotency import (
    IdempotencyKey,
    KeyInProgress,
    KeyReused,
    answer_once,
    once,
    repeatable,
)
from hansa.foundation.plumbing.web.limits import WriteLimit
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.plumbing.web.sealed_answers import (
    StoredAnswerUnreadable,
    recall_sealed,
    remember_sealed,
)
from hansa.foundation.values.did import DID_MAX_CHARACTERS
from hansa.foundation.values.errors import (
    DeveloperSuspended,
    Forbidden,
    Invalid,
    OrgRoleRequired,
    PayloadTooLarge,
    ReplacedMeanwhile,
    TooManyRequests,
    Unauthorized,
)
from hansa.rooms import agents, catalogue, federation, ledger, organizations, transfers

from .ending import end_child
from .reading import children_with_purses, with_purses
from .schemas import ChildEndedOut, ChildrenOut, ChildrenQuery, SpawnIn, SpawnOut
from .spawning import Spawned, spawn

router = APIRouter(prefix="/agents/{did}/spawn", tags=["agents"], route_class=GuardedRoute)

SEALED_FOR = "spawned agent"
Did = Annotated[str, Path(max_length=DID_MAX_CHARACTERS)]
Reader = Annotated[Developer | Agent, developer_or_agent_holding("agents:read")]
Writer = Annotated[Developer | Agent, developer_or_agent_holding("agents:write", is_act=True)]
Spawner = Annotated[Developer | Agent, developer_or_agent_holding("agents:secrets", is_act=True)]
"""The answer has the secrets of the child, and the parent pays."""


@router.post(
    "",
    status_code=201,
    response_model=SpawnOut,
    responses={
        202: transfers.APPROVAL_NEEDED,
        **problems(
            Unauthorized,
            ledger.InsufficientBalance,
            Forbidden,
            DeveloperSuspended,
            PermissionMissing,
            OrgRoleRequired,
            ledger.AccountSuspended,
            agents.RolesNotHeld,
            *agents.PAYMENT_REFUSALS,
            agents.AgentUnknown,
            agents.ApprovalUnknown,
            agents.ApprovalUnusable,
            agents.ApprovalsPending,
            agents.ChildEnding,
            agents.SpawnTooDeep,
            organizations.OrganizationNotActive,
            organizations.LimitReached,
            catalogue.HumanReadableIdTaken,
            federation.DidClaimed,
            ReplacedMeanwhile,
            PayloadTooLarge,
            agents.PolicyWidened,
            agents.LifetimeTooLong,
            catalogue.CardInvalid,
            StoredAnswerUnreadable,
            KeyReused,
            KeyInProgress,
            Invalid,
            BodyInvalid,
            agents.SpawnQuotaReached,
            TooManyRequests,
        ),
    },
)
@takes_cards
async def spawn_child(
    did: Did,
    body: SpawnIn,
    caller: Spawner,
    db: catalogue.CardWrites,
    config: Config,
    *,
    seal: Sealing,
    request: Request,
    writes: WriteLimit,
    key: IdempotencyKey = None,
    approval: transfers.SpendApproval = None,
) -> Response:
    """Spawn a child of an agent: an agent with a purse of its own, for a while. Its secret and its private key are shown only once.

    Its roles and its spend policy are at most those of its parent. The parent pays the units as any payment, by its own policy; its list
    of payees does not bar the child. At the end of its life the rest goes back to the parent, less the fee.
    """
    await writes.admit(caller.sender)
    sent = repeatable(caller, request, key, body, exclude={"approval_id"})
    shown = transfers.one_approval(body.approval_id, approval)
    identity = agents.new_identity(config, None)
    order = body.order(identity, shown, sent.scope if sent else None)

    async def spawned(tx: Tx) -> tuple[str, bool] | agents.Approval:
        if sent and (known := await recall_sealed(tx, sent, seal, SEALED_FOR)) is not None:
            return known, True
        made = await spawn(tx, caller, did, order, runtime_of(request))
        if not isinstance(made, Spawned):
            return made
        shown_once = SpawnOut.of_spawned(made).model_dump_json()
        if sent:
            await remember_sealed(tx, sent, seal, shown_once, SEALED_FOR)
        return shown_once, False

    outcome = await db.transaction(spawned)
    if isinstance(outcome, agents.Approval):
        return transfers.approval_answer(outcome, config.settlement_currency)
    answer = answer_once(outcome[0], replayed=outcome[1])
    answer.status_code = 201
    return answer


@router.get(
    "",
    responses=problems(
        Unauthorized, Forbidden, OrgRoleRequired, agents.AgentUnknown, agents.ChildUnknown, Invalid
    ),
)
async def list_children(
    did: Did, caller: Reader, db: Db, query: Annotated[ChildrenQuery, Query()]
) -> ChildrenOut:
    """Children of an agent in every state, newest first, with their units."""
    found = await db.read(lambda tx: children_with_purses(tx, caller, did, query.next, limit=query.limit + 1))
    return ChildrenOut.of(found, query.limit)


@router.post(
    "/end",
    response_model=ChildEndedOut,
    responses=problems(
        Unauthorized,
        Forbidden,
        DeveloperSuspended,
        OrgRoleRequired,
        agents.AgentUnknown,
        agents.ChildUnknown,
        agents.AgentHasChildren,
        KeyReused,
        KeyInProgress,
        Invalid,
    ),
)
async def end_spawned_child(
    did: Did, caller: Writer, db: catalogue.CardWrites, *, request: Request, key: IdempotencyKey = None
) -> Response:
    """End a child before its time, for its owner and its parent. Its roles end at once, and its authorized tokens are released.

    Once nothing binds it, its units go back to the parent, less the fee, and it is revoked; until then `waits_for` says why not.
    """
    sent = repeatable(caller, request, key)

    async def ended(tx: Tx) -> ChildEndedOut:
        outcome = await end_child(tx, caller, did, runtime_of(request))
        (purse,) = await with_purses(tx, [outcome.child])
        return ChildEndedOut.of_ended(outcome, purse)

    return await once(db, sent, ended)
