"""Work orders of an organization over HTTP, for its admins."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path, Request
from fastapi.responses import Response

from hansa.foundation.plumbing.process.runtime import Config, Db, runtime_of
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.bodies import BodyInvalid, GuardedRoute
from hansa.foundation.plumbing.web.idempotency import KeyInProgress, KeyReused
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import Forbidden, Invalid, Refused, Unauthorized
from hansa.rooms import agents, commerce, ledger, organizations
from hansa.rooms.treasury.errors import InArrears, TreasuryDayLimit, TreasuryPayeeNotAllowed

from .awarding import ask_for_award
from .ending import cancel
from .errors import BidEnded, BidUnknown, WorkOrderNotOpen, WorkOrderUnknown
from .opening import open_order
from .schemas import WorkAwardIn, WorkOrderIn, WorkOrderOut

router = APIRouter(
    prefix="/organizations/{organization_id}/work-orders", tags=["work orders"], route_class=GuardedRoute
)

Key = Annotated[str, Path(max_length=64)]
OrderId = Annotated[UUID, Path()]

_ACTING: tuple[type[Refused], ...] = (
    Unauthorized,
    organizations.OrganizationUnknown,
    organizations.OrganizationNotActive,
    organizations.OrgRoleRequired,
    KeyReused,
    KeyInProgress,
    Invalid,
)


@router.post(
    "",
    status_code=201,
    response_model=WorkOrderOut,
    responses=problems(
        *_ACTING,
        organizations.LimitReached,
        ledger.InsufficientBalance,
        ledger.AccountSuspended,
        InArrears,
        BodyInvalid,
    ),
)
async def open_work_order(
    organization_id: Key, body: WorkOrderIn, sent: organizations.Sent, http: Request, db: Db
) -> Response:
    """Offer work to every agent. The amount and its fee are held in the treasury until the order ends."""

    async def opened(tx: Tx) -> WorkOrderOut:
        runtime = runtime_of(http)
        return WorkOrderOut.of(await open_order(tx, sent.developer, organization_id, body.order(), runtime))

    return await sent.answer(db, opened, body, status=201)


@router.post(
    "/{work_order_id}/award",
    response_model=organizations.OrganizationRequestOut,
    responses=organizations.WAITS
    | problems(
        *_ACTING,
        organizations.LimitReached,
        organizations.RequestExists,
        WorkOrderUnknown,
        WorkOrderNotOpen,
        BidUnknown,
        BidEnded,
        InArrears,
        TreasuryDayLimit,
        TreasuryPayeeNotAllowed,
        Forbidden,
        commerce.FundedAcross,
        agents.ChildEnding,
        commerce.RelatedParty,
        commerce.BondRequired,
        ledger.AccountSuspended,
        BodyInvalid,
    ),
)
async def award_work_order(
    organization_id: Key, work_order_id: OrderId, body: WorkAwardIn, sent: organizations.Sent, db: Db
) -> Response:
    """Award the work to a live bid, at once or after the approvals that a payment of its price needs.

    The contract is accepted when it comes to be, and funded from what the order holds; the difference is free.
    """

    async def asked(tx: Tx) -> organizations.OrganizationRequestOut:
        asking = ask_for_award(tx, sent.acting, organization_id, work_order_id, body.bid_id)
        return organizations.OrganizationRequestOut.of(await asking)

    answer = await sent.answer(db, asked, body)
    answer.status_code = organizations.status_of(bytes(answer.body))
    return answer


@router.post(
    "/{work_order_id}/cancel",
    response_model=WorkOrderOut,
    responses=problems(*_ACTING, WorkOrderUnknown, WorkOrderNotOpen),
)
async def cancel_work_order(
    organization_id: Key, work_order_id: OrderId, sent: organizations.Sent, config: Config, db: Db
) -> Response:
    """End an open work order. Its bids are lost, and what it held is free."""

    async def cancelled(tx: Tx) -> WorkOrderOut:
        return WorkOrderOut.of(await cancel(tx, sent.developer, organization_id, work_order_id, config))

    return await sent.answer(db, cancelled)
