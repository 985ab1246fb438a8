"""The board of work orders, and bids of agents, over HTTP."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Path, Query, Request
from fastapi.responses import Response

from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.bodies import BodyInvalid, GuardedRoute
from hansa.foundation.plumbing.web.caller import Agent, CurrentAgent, DeveloperOrAgent, Public
from hansa.foundation.plumbing.web.idempotency import (
    IdempotencyKey,
    KeyInProgress,
    KeyReused,
    once,
    repeatable,
)
from hansa.foundation.plumbing.web.limits import WriteLimit, within_read_limit
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import Forbidden, Invalid, Refused, TooManyRequests, Unauthorized
from hansa.foundation.values.paging import Page, Pagination
from hansa.rooms import agents, commerce, organizations

from .bidding import bid, bids_read_by, withdraw
from .errors import (
    BiddingEnded,
    BidEnded,
    BidExists,
    BidUnknown,
    PriceTooHigh,
    WorkOrderNotOpen,
    WorkOrderUnknown,
)
from .reading import board, read_order
from .records import BoardFilter
from .schemas import (
    SKILL_MAX,
    WorkBidIn,
    WorkBidOut,
    WorkBidWithdrawnOut,
    WorkOrderOut,
    WorkOrderPageOut,
    WorkOrderStatus,
)

PAGE_DEFAULT, PAGE_MAX = 20, 100
WORDS_MAX = 200
OFFSET_MAX = 2**31 - 1

router = APIRouter(prefix="/work-orders", tags=["work orders"], route_class=GuardedRoute)

OrderId = Annotated[UUID, Path()]
AdmittedByBond = Annotated[commerce.BondAdmits, Depends(commerce.BOND_ADMITS.given)]
Limit = Annotated[int, Query(ge=1, le=PAGE_MAX)]
Offset = Annotated[int, Query(ge=0, le=OFFSET_MAX)]

_BOUNDS: tuple[type[Refused], ...] = (WorkOrderUnknown, WorkOrderNotOpen, BiddingEnded)


@router.get("", dependencies=[Depends(within_read_limit)], responses=problems(Invalid, TooManyRequests))
async def read_board(
    _: Public,
    db: Db,
    *,
    q: Annotated[
        str | None,
        Query(
            min_length=1,
            max_length=WORDS_MAX,
            description="Words that title, specification or skills have, all of them.",
        ),
    ] = None,
    skill: Annotated[str | None, Query(min_length=1, max_length=SKILL_MAX)] = None,
    status: Annotated[WorkOrderStatus | None, Query()] = None,
    limit: Limit = PAGE_DEFAULT,
    offset: Offset = 0,
) -> WorkOrderPageOut:
    """Work orders of all organizations, the newest first. Those of a suspended organization are left out."""
    wanted = BoardFilter(q, skill, status, limit, offset)
    found, total, is_exact = await db.read(lambda tx: board(tx, wanted))
    return WorkOrderPageOut(
        items=[WorkOrderOut.of(one) for one in found],
        pagination=Pagination.of(total=total, limit=limit, offset=offset),
        total_is_exact=is_exact,
    )


@router.get(
    "/{work_order_id}",
    dependencies=[Depends(within_read_limit)],
    responses=problems(WorkOrderUnknown, Invalid, TooManyRequests),
)
async def read_work_order(work_order_id: OrderId, _: Public, db: Db) -> WorkOrderOut:
    """One work order."""
    return WorkOrderOut.of(await db.read(lambda tx: read_order(tx, work_order_id)))


@router.post(
    "/{work_order_id}/bids",
    status_code=201,
    response_model=WorkBidOut,
    responses=problems(
        Unauthorized,
        Forbidden,
        KeyReused,
        KeyInProgress,
        TooManyRequests,
        *_BOUNDS,
        organizations.OrganizationNotActive,
        organizations.LimitReached,
        BidExists,
        PriceTooHigh,
        commerce.TermsInvalid,
        commerce.FundedAcross,
        agents.ChildEnding,
        commerce.RelatedParty,
        commerce.BondRequired,
        Invalid,
        BodyInvalid,
    ),
)
async def bid_for_work(
    work_order_id: OrderId,
    body: WorkBidIn,
    agent: CurrentAgent,
    request: Request,
    *,
    config: Config,
    db: Db,
    bond_admits: AdmittedByBond,
    writes: WriteLimit,
    key: IdempotencyKey = None,
) -> Response:
    """Offer to do the work for a price. The bid is the consent to the contract: an award makes it without another question."""
    await writes.admit(agent.did)
    sent = repeatable(agent, request, key, body)

    async def made(tx: Tx) -> WorkBidOut:
        return WorkBidOut.of(
            await bid(tx, agent, work_order_id, body.bid(), settings=config, bond_admits=bond_admits)
        )

    answer = await once(db, sent, made)
    answer.status_code = 201
    return answer


@router.get(
    "/{work_order_id}/bids",
    responses=problems(
        Unauthorized,
        WorkOrderUnknown,
        organizations.OrganizationUnknown,
        organizations.OrgRoleRequired,
        Invalid,
    ),
)
async def read_bids(
    work_order_id: OrderId, caller: DeveloperOrAgent, db: Db, limit: Limit = PAGE_DEFAULT, offset: Offset = 0
) -> Page[WorkBidOut]:
    """The bids on a work order, the oldest first: the own ones of an agent, all for a member of the organization."""
    if not isinstance(caller, Agent):
        caller.require("orgs:read")
    found, total = await db.read(
        lambda tx: bids_read_by(tx, caller, work_order_id, limit=limit, offset=offset)
    )
    return Page[WorkBidOut](
        items=[WorkBidOut.of(one) for one in found],
        pagination=Pagination.of(total=total, limit=limit, offset=offset),
    )


@router.delete(
    "/{work_order_id}/bids/{bid_id}",
    responses=problems(Unauthorized, Forbidden, TooManyRequests, *_BOUNDS, BidUnknown, BidEnded, Invalid),
)
async def withdraw_bid(
    work_order_id: OrderId, bid_id: UUID, agent: CurrentAgent, db: Db, *, writes: WriteLimit
) -> WorkBidWithdrawnOut:
    """Withdraw an own bid while the time for bids lasts."""
    await writes.admit(agent.did)
    await db.transaction(lambda tx: withdraw(tx, agent, work_order_id, bid_id))
    return WorkBidWithdrawnOut()
