"""HTTP doors of the catalogue."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import StreamingResponse
from starlette.convertors import StringConvertor, register_url_convertor

from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.web.bodies import BodyInvalid, GuardedRoute, takes_cards
from hansa.foundation.plumbing.web.caller import (
    CREDENTIAL_OPTIONAL,
    Developer,
    Public,
    ScopeMissing,
    maybe_developer_holding,
    require_scope_if_lacking,
)
from hansa.foundation.plumbing.web.entity_tags import TAGGED, tagged
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.foundation.plumbing.web.problem_docs import problems

from .errors import CardUnknown, CursorInvalid, OwnerUnknown, UnlistedRefused
from .findings import LIST_FINDINGS, CardFindings
from .form import check_card
from .list_pieces import list_pieces
from .listing import list_cards
from .reading import card_called, card_of, card_of_agent
from .records import Card
from .schemas import (
    AgentOut,
    CardListQuery,
    CardOut,
    CardPageOut,
    CardVerdict,
    ValidateCardIn,
)
from .shown import shown

MaybeReader = Annotated[Developer | None, maybe_developer_holding("cards:read")]


class _CardName(StringConvertor):
    """Second part of a humanReadableId, where it stands below a card, except the names of the card's own paths."""

    regex = r"(?!(?:listing|versions)$)[^/]+"


register_url_convertor("card_name", _CardName())

JSON = "application/json"
READ_ONE = {**problems(CardUnknown), **TAGGED}

router = APIRouter(tags=["agent cards"], route_class=GuardedRoute, dependencies=[Depends(within_read_limit)])


ListFindings = Annotated[CardFindings, Depends(LIST_FINDINGS.given)]


@router.get(
    "/agent-cards/",
    response_model=CardPageOut,
    openapi_extra=CREDENTIAL_OPTIONAL,
    responses=problems(OwnerUnknown, ScopeMissing, UnlistedRefused, CursorInvalid),
)
@router.get("/agent-cards", response_model=CardPageOut, include_in_schema=False)
async def list_visible_cards(
    request: Request,
    query: Annotated[CardListQuery, Query()],
    developer: MaybeReader,
    *,
    db: Db,
    settings: Config,
    findings: ListFindings,
) -> Response:
    """List visible cards, newest first. A long page is sent while it is read; one that cannot be read to its end has no valid JSON."""
    if query.owned_only:
        require_scope_if_lacking(request)
    filters = query.filters(
        own_currency=settings.settlement_currency,
        developer_id=developer.id if developer else None,
        may_see_unlisted=_administers_cards(developer, settings),
    )
    page = await db.read(lambda tx: list_cards(tx, filters, query.page(), findings))
    pieces = list_pieces(db, page, query.page(), settings.extension_base)
    if page.later:
        return StreamingResponse(pieces, media_type=JSON)
    return Response(b"".join([piece async for piece in pieces]), media_type=JSON)


@router.get("/agent-cards/by-hri", response_model=CardOut, responses=READ_ONE)
async def read_card_by_hri(
    _: Public, request: Request, db: Db, settings: Config, hri: Annotated[str, Query(max_length=256)]
) -> Response:
    """Read the card with this humanReadableId (`org/name`)."""
    card = await db.query(lambda tx: card_called(tx, hri))
    return _answer(request, card, settings)


@router.get("/agent-cards/id/{human_readable_id:path}", response_model=CardOut, responses=READ_ONE)
async def read_card_by_human_readable_id(
    _: Public, request: Request, db: Db, settings: Config, human_readable_id: str
) -> Response:
    """Read the card with this humanReadableId; the slash needs no encoding."""
    card = await db.query(lambda tx: card_called(tx, human_readable_id))
    return _answer(request, card, settings)


@router.get("/agent-cards/{card_id}", response_model=CardOut, responses=READ_ONE)
async def read_card(_: Public, request: Request, db: Db, settings: Config, card_id: str) -> Response:
    """Read a card by its UUID, the DID of its agent, or its number; also a suspended one, with its status."""
    card = await db.query(lambda tx: card_of(tx, card_id))
    return _answer(request, card, settings)


@router.get("/agent-cards/{org}/{name:card_name}", response_model=CardOut, responses=READ_ONE)
async def read_card_by_org_and_name(
    _: Public, request: Request, db: Db, settings: Config, org: str, name: str
) -> Response:
    """Read the card whose humanReadableId is `org/name`."""
    card = await db.query(lambda tx: card_called(tx, f"{org}/{name}"))
    return _answer(request, card, settings)


@router.get("/agents/by-did/{did}", response_model=AgentOut, responses=READ_ONE)
async def read_agent_by_did(_: Public, request: Request, db: Db, settings: Config, did: str) -> Response:
    """Read one agent, local or mirrored."""
    card = await db.query(lambda tx: card_of_agent(tx, did))
    return tagged(request, AgentOut.of(shown(card, settings.extension_base)).body())


@router.post("/utils/validate-card", responses=problems(BodyInvalid))
@takes_cards
async def validate_card(_: Public, body: ValidateCardIn) -> CardVerdict:
    """Validate a card before it is published. An invalid card is not an error here: the response lists what is wrong."""
    return CardVerdict.of(check_card(body.card_data))


def _answer(request: Request, card: Card, settings: Config) -> Response:
    body = CardOut.of(shown(card, settings.extension_base)).body()
    return tagged(request, body, state=card.state)


def _administers_cards(developer: Developer | None, settings: Config) -> bool:
    """Return whether the caller may list unlisted cards: an administrator of any area."""
    if developer is None or (settings.require_admin_2fa and developer.second_factor_at is None):
        return False
    return bool(developer.areas_in_reach)
