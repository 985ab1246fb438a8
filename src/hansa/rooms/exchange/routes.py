"""Listings over HTTP: everybody reads them, admins of an organization draft and submit them."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from hansa.foundation.plumbing.process.runtime import Config, Db, runtime_of
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.bodies import BodyInvalid, GuardedRoute
from hansa.foundation.plumbing.web.caller import (
    CREDENTIAL_OPTIONAL,
    Developer,
    developer_acting,
    maybe_developer_holding,
)
from hansa.foundation.plumbing.web.idempotency import KeyInProgress, KeyReused
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import Invalid, Refused, TooManyRequests, Unauthorized
from hansa.rooms import federation, organizations

from .drafting import change, draft, submit, withdraw
from .errors import (
    ExchangeDisabled,
    ListingState,
    ListingUnknown,
    OpeningPassed,
    OrganizationListed,
    OrganizationNotPublic,
    RefTaken,
    TermsChanged,
)
from .reading import read_listing, read_listings
from .schemas import ExchangeListingIn, ListingChangesIn, ListingOut, ListingsOut, RefInPath

router = APIRouter(prefix="/agora/listings", tags=["exchange"], route_class=GuardedRoute)

MaybeReader = Annotated[Developer | None, maybe_developer_holding("orgs:read")]
WritingDeveloper = Annotated[Developer, developer_acting("orgs:write")]

_ACTING: tuple[type[Refused], ...] = (
    Unauthorized,
    ListingUnknown,
    ListingState,
    organizations.OrganizationNotActive,
    organizations.OrgRoleRequired,
    Invalid,
)
_KEYS: tuple[type[Refused], ...] = (KeyReused, KeyInProgress)


@router.get(
    "",
    openapi_extra=CREDENTIAL_OPTIONAL,
    dependencies=[Depends(within_read_limit)],
    responses=problems(TooManyRequests),
)
async def list_listings(reader: MaybeReader, db: Db, config: Config) -> ListingsOut:
    """The listings of organizations that sell points, by reference. An administrator reads those under review as well."""
    found = await db.read(lambda tx: read_listings(tx, reader, config))
    return ListingsOut(listings=[ListingOut.of(one) for one in found])


@router.get(
    "/{ref}",
    openapi_extra=CREDENTIAL_OPTIONAL,
    dependencies=[Depends(within_read_limit)],
    responses=problems(ListingUnknown, Invalid, TooManyRequests),
)
async def read_one_listing(ref: RefInPath, reader: MaybeReader, db: Db) -> ListingOut:
    """One listing. Before its approval it is read by members of the organization and by administrators."""
    return ListingOut.of(await db.read(lambda tx: read_listing(tx, reader, ref)))


@router.post(
    "",
    status_code=201,
    response_model=ListingOut,
    responses=problems(
        Unauthorized,
        ExchangeDisabled,
        organizations.OrganizationUnknown,
        organizations.OrganizationNotActive,
        organizations.OrgRoleRequired,
        OrganizationNotPublic,
        RefTaken,
        OrganizationListed,
        *_KEYS,
        Invalid,
        BodyInvalid,
    ),
)
async def draft_listing(body: ExchangeListingIn, sent: organizations.Sent, db: Db) -> Response:
    """Draft an offer of points of a public organization."""

    async def drafted(tx: Tx) -> ListingOut:
        terms = body.terms
        return ListingOut.of(await draft(tx, sent.acting, body.organization_id, terms.ref, terms.terms()))

    return await sent.answer(db, drafted, body, status=201)


@router.patch("/{ref}", responses=problems(*_ACTING, ExchangeDisabled, BodyInvalid))
async def change_listing(
    ref: RefInPath, body: ListingChangesIn, developer: WritingDeveloper, http: Request, db: Db
) -> ListingOut:
    """Change terms of a draft."""
    acting = organizations.Acting.by(runtime_of(http), developer)
    return ListingOut.of(await db.transaction(lambda tx: change(tx, acting, ref, body.changes())))


@router.post(
    "/{ref}/submit",
    response_model=organizations.OrganizationRequestOut,
    responses=organizations.WAITS
    | problems(
        *_ACTING,
        ExchangeDisabled,
        OrganizationNotPublic,
        OpeningPassed,
        TermsChanged,
        organizations.RequestExists,
        organizations.LimitReached,
        federation.ActParked,
        federation.AuthorizationsUnreadable,
        *_KEYS,
    ),
)
async def submit_listing(ref: RefInPath, sent: organizations.Sent, db: Db) -> Response:
    """Bring a draft into review, at once or after the approvals of the highest tier of the organization."""

    async def submitted(tx: Tx) -> organizations.OrganizationRequestOut:
        return organizations.OrganizationRequestOut.of(await submit(tx, sent.acting, ref))

    answer = await sent.answer(db, submitted)
    answer.status_code = organizations.status_of(bytes(answer.body))
    return answer


@router.post("/{ref}/withdraw", response_model=ListingOut, responses=problems(*_ACTING, *_KEYS))
async def withdraw_listing(ref: RefInPath, sent: organizations.Sent, db: Db) -> Response:
    """Take a listing under review back; it is a draft again."""

    async def withdrawn(tx: Tx) -> ListingOut:
        return ListingOut.of(await withdraw(tx, sent.acting, ref))

    return await sent.answer(db, withdrawn)
