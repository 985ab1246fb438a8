"""HTTP doors of the catalogue."""

from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Depends, Query

from hansa.foundation.plumbing.bodies import BodyInvalid, GuardedRoute, takes_cards
from hansa.foundation.plumbing.caller import CREDENTIAL_OPTIONAL, Developer, Public, maybe_developer_holding
from hansa.foundation.plumbing.limits import within_read_limit
from hansa.foundation.plumbing.problem_docs import problems
from hansa.foundation.plumbing.runtime import Config, Db
from hansa.foundation.words.errors import Unauthorized

from .enforcement import with_enforcement
from .errors import CardUnknown, CursorInvalid, OwnerUnknown, UnlistedRefused
from .form import check_card
from .listing import list_cards
from .reading import card_called, card_of, card_of_agent
from .schemas import (
    AgentOut,
    CardListQuery,
    CardOut,
    CardPageOut,
    CardVerdict,
    ValidateCardIn,
)

MaybeReader = Annotated[Developer | None, maybe_developer_holding("cards:read")]

router = APIRouter(tags=["agent cards"], route_class=GuardedRoute, dependencies=[Depends(within_read_limit)])


@router.get(
    "/agent-cards/",
    openapi_extra=CREDENTIAL_OPTIONAL,
    responses=problems(Unauthorized, OwnerUnknown, UnlistedRefused, CursorInvalid),
)
@router.get("/agent-cards", include_in_schema=False)
async def read_cards(
    query: Annotated[CardListQuery, Query()], developer: MaybeReader, db: Db, settings: Config
) -> CardPageOut:
    """List cards that may be shown, the newest first."""
    filters = query.filters(
        own_currency=settings.settlement_currency, developer_id=developer.id if developer else None
    )
    page = await db.read(lambda tx: list_cards(tx, filters, query.page()))
    page = replace(page, cards=[with_enforcement(card, settings.extension_base) for card in page.cards])
    return CardPageOut.of(page, query.limit)


@router.get("/agent-cards/by-hri", responses=problems(CardUnknown))
async def read_card_by_hri(
    _: Public, db: Db, settings: Config, hri: Annotated[str, Query(max_length=256)]
) -> CardOut:
    """Read the card with that humanReadableId (`org/name`)."""
    card = await db.read(lambda tx: card_called(tx, hri))
    return CardOut.of(with_enforcement(card, settings.extension_base))


@router.get("/agent-cards/id/{human_readable_id:path}", responses=problems(CardUnknown))
async def read_card_by_human_readable_id(
    _: Public, db: Db, settings: Config, human_readable_id: str
) -> CardOut:
    """Read the card with that humanReadableId; the slash may stand as it is."""
    card = await db.read(lambda tx: card_called(tx, human_readable_id))
    return CardOut.of(with_enforcement(card, settings.extension_base))


@router.get("/agent-cards/{card_id}", responses=problems(CardUnknown))
async def read_card(_: Public, db: Db, settings: Config, card_id: str) -> CardOut:
    """Read a card by its UUID, the DID of its agent, or its number; a suspended one tells its status."""
    card = await db.read(lambda tx: card_of(tx, card_id))
    return CardOut.of(with_enforcement(card, settings.extension_base))


@router.get("/agents/by-did/{did}", responses=problems(CardUnknown))
async def read_agent_by_did(_: Public, db: Db, settings: Config, did: str) -> AgentOut:
    """Read one agent, local or mirrored."""
    card = await db.read(lambda tx: card_of_agent(tx, did))
    return AgentOut.of(with_enforcement(card, settings.extension_base))


@router.post("/utils/validate-card", responses=problems(BodyInvalid))
@takes_cards
async def validate_card(_: Public, body: ValidateCardIn) -> CardVerdict:
    """Judge a card before it is published. An invalid card is no error here: the answer says what is wrong."""
    return CardVerdict.of(check_card(body.card_data))
