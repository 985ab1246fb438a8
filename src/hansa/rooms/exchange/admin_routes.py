"""Decisions of administrators on listings over HTTP, and the invariant of the exchange."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Annotated, TypeAlias

from fastapi import APIRouter
from fastapi.responses import Response

from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.bodies import BodyInvalid, GuardedRoute
from hansa.foundation.plumbing.web.caller import Developer, admin_holding
from hansa.foundation.plumbing.web.idempotency import KeyInProgress, KeyReused
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import Invalid, Refused, Unauthorized
from hansa.rooms import organizations

from .auditing import invariant
from .deciding import approve, delist, halt, reject, resume
from .errors import ExchangeDisabled, ListingState, ListingUnknown, OpeningPassed, OrganizationNotPublic
from .reading import AREA
from .records import ShownListing
from .revenue import ExchangeInvariantOut
from .schemas import ListingOut, ListingReasonIn, RefInPath

admin_router = APIRouter(
    prefix="/admin/agora/listings/{ref}", tags=["administrators"], route_class=GuardedRoute
)

invariant_router = APIRouter(prefix="/agora/admin", tags=["administrators"], route_class=GuardedRoute)

TreasuryAdministrator = Annotated[Developer, admin_holding("admin_treasury")]
SentByPlatform = Annotated[organizations.Repeating, organizations.sent_by(admin_holding(AREA))]
SentByEnforcement = Annotated[
    organizations.Repeating, organizations.sent_by(admin_holding("admin_enforcement"))
]
Decide: TypeAlias = Callable[[Tx, Developer, str, str], Awaitable[ShownListing]]

_DECIDING: tuple[type[Refused], ...] = (
    Unauthorized,
    ListingUnknown,
    ListingState,
    KeyReused,
    KeyInProgress,
    Invalid,
    BodyInvalid,
)


@admin_router.post(
    "/approve",
    response_model=ListingOut,
    responses=problems(
        *_DECIDING,
        ExchangeDisabled,
        OpeningPassed,
        OrganizationNotPublic,
        organizations.OrganizationNotActive,
        organizations.LimitReached,
    ),
)
async def approve_listing(
    ref: RefInPath, body: ListingReasonIn, sent: SentByPlatform, db: Db, config: Config
) -> Response:
    """Approve a listing under review. Its terms and its fee are final; the launch opens at `opens_at`."""
    return await _decided(partial(approve, settings=config), ref, body, sent, db)


@admin_router.post("/reject", response_model=ListingOut, responses=problems(*_DECIDING))
async def reject_listing(ref: RefInPath, body: ListingReasonIn, sent: SentByPlatform, db: Db) -> Response:
    """Send a listing under review back to its organization as a draft."""
    return await _decided(reject, ref, body, sent, db)


@admin_router.post("/delist", response_model=ListingOut, responses=problems(*_DECIDING))
async def delist_listing(ref: RefInPath, body: ListingReasonIn, sent: SentByPlatform, db: Db) -> Response:
    """End the trade of a listing for good, or a launch that has not closed. Holders keep their points and what is owed to them."""
    return await _decided(delist, ref, body, sent, db)


@admin_router.post("/halt", response_model=ListingOut, responses=problems(*_DECIDING))
async def halt_listing(ref: RefInPath, body: ListingReasonIn, sent: SentByEnforcement, db: Db) -> Response:
    """Halt the trade of a listing: orders can only be cancelled."""
    return await _decided(halt, ref, body, sent, db)


@admin_router.post("/resume", response_model=ListingOut, responses=problems(*_DECIDING))
async def resume_listing(ref: RefInPath, body: ListingReasonIn, sent: SentByEnforcement, db: Db) -> Response:
    """Let the trade of a halted listing go on."""
    return await _decided(resume, ref, body, sent, db)


@invariant_router.get("/invariant", responses=problems(Unauthorized))
async def read_exchange_invariant(_: TreasuryAdministrator, db: Db) -> ExchangeInvariantOut:
    """Compare points with their postings, the account of each listing with what its holders are owed, and holds with their orders, now."""
    return await db.transaction(invariant, one_snapshot=True)


async def _decided(
    decide: Decide, ref: str, body: ListingReasonIn, sent: organizations.Repeating, db: Db
) -> Response:
    async def decided(tx: Tx) -> ListingOut:
        return ListingOut.of(await decide(tx, sent.developer, ref, body.reason))

    return await sent.answer(db, decided, body)
