"""HTTP doors of those who own cards."""

from typing import Annotated

from fastapi import APIRouter, Request, Response

from hansa.foundation.plumbing.process.runtime import Config
from hansa.foundation.plumbing.web.bodies import BodyInvalid, GuardedRoute, takes_cards
from hansa.foundation.plumbing.web.caller import Developer, developer_acting
from hansa.foundation.plumbing.web.entity_tags import IfMatch, PreconditionFailed, require_match, tagged
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import DeveloperSuspended, OrgRoleRequired, QuotaReached, Unauthorized
from hansa.rooms.catalogue.errors import (
    AgentNotActive,
    AgentNotHere,
    AgentNotYours,
    CardExists,
    CardInvalid,
    CardNotYours,
    CardRevoked,
    CardUnknown,
    HumanReadableIdTaken,
    ListingCardsTooMany,
)
from hansa.rooms.catalogue.records import Card
from hansa.rooms.catalogue.schemas import CardOut
from hansa.rooms.catalogue.search import CardWrites
from hansa.rooms.catalogue.shown import shown
from hansa.rooms.catalogue.signatures import CardSignatureRefused, SignaturePolicy

from .create import create_card
from .edit import Editor, delete_card, edit_card, list_or_unlist
from .ownership import Owners
from .schemas import CreateCardIn, EditCardIn, ListingIn

Writer = Annotated[Developer, developer_acting("cards:write")]

router = APIRouter(tags=["agent cards"], route_class=GuardedRoute)


@router.post(
    "/agent-cards/",
    operation_id="create_card",
    status_code=201,
    response_model=CardOut,
    responses=problems(
        Unauthorized,
        DeveloperSuspended,
        AgentNotYours,
        OrgRoleRequired,
        AgentNotHere,
        AgentNotActive,
        CardExists,
        HumanReadableIdTaken,
        ListingCardsTooMany,
        CardInvalid,
        CardSignatureRefused,
        BodyInvalid,
    ),
)
@router.post("/agent-cards", status_code=201, include_in_schema=False, response_model=CardOut)
@takes_cards
async def create(
    request: Request,
    *,
    body: CreateCardIn,
    developer: Writer,
    db: CardWrites,
    settings: Config,
    owners: Owners,
) -> Response:
    """Create the card of an own agent, or a listing card, which belongs to no agent."""
    card = await db.transaction(
        lambda tx: create_card(tx, body.request_card(), developer.id, settings, owners)
    )
    answer = _answer(request, card, settings)
    answer.headers["Location"] = f"/api/v1/agent-cards/{card.id}"
    answer.status_code = 201
    return answer


@router.put(
    "/agent-cards/{card_id}",
    operation_id="change_card",
    response_model=CardOut,
    responses=problems(
        Unauthorized,
        DeveloperSuspended,
        CardNotYours,
        OrgRoleRequired,
        CardUnknown,
        CardRevoked,
        HumanReadableIdTaken,
        PreconditionFailed,
        CardInvalid,
        CardSignatureRefused,
        BodyInvalid,
        QuotaReached,
    ),
)
@takes_cards
async def edit(
    request: Request,
    card_id: str,
    *,
    body: EditCardIn,
    developer: Writer,
    if_match: IfMatch,
    db: CardWrites,
    settings: Config,
    owners: Owners,
) -> Response:
    """Replace the document of an own card, or activate or deactivate it. Other members of the body have no effect."""
    editor = _editor(developer, card_id, if_match, settings)
    card = await db.transaction(lambda tx: edit_card(tx, editor, body.edit(), owners))
    return _answer(request, card, settings)


@router.patch(
    "/agent-cards/{card_id}/listing",
    response_model=CardOut,
    responses=problems(
        Unauthorized,
        DeveloperSuspended,
        CardNotYours,
        OrgRoleRequired,
        CardUnknown,
        CardRevoked,
        PreconditionFailed,
        BodyInvalid,
    ),
)
async def set_listing(
    request: Request,
    card_id: str,
    *,
    body: ListingIn,
    developer: Writer,
    if_match: IfMatch,
    db: CardWrites,
    settings: Config,
    owners: Owners,
) -> Response:
    """Hide an own card from discovery, search and counts, or show it again. It stays readable by its DID."""
    editor = _editor(developer, card_id, if_match, settings)
    card = await db.transaction(lambda tx: list_or_unlist(tx, editor, owners, unlisted=body.unlisted))
    return _answer(request, card, settings)


@router.delete(
    "/agent-cards/{card_id}",
    operation_id="delete_card",
    status_code=204,
    responses=problems(
        Unauthorized, DeveloperSuspended, CardNotYours, OrgRoleRequired, CardUnknown, PreconditionFailed
    ),
)
async def delete(
    card_id: str, *, developer: Writer, if_match: IfMatch, db: CardWrites, settings: Config, owners: Owners
) -> None:
    """Deactivate an own card. The agent keeps working, and its owner can activate the card again."""
    editor = _editor(developer, card_id, if_match, settings)
    await db.transaction(lambda tx: delete_card(tx, editor, owners))


def _editor(developer: Developer, card_id: str, if_match: str | None, settings: Config) -> Editor:
    def precondition(card: Card) -> None:
        if if_match is not None:
            require_match(if_match, card.state)

    return Editor(developer.id, card_id, precondition, SignaturePolicy.of(settings))


def _answer(request: Request, card: Card, settings: Config) -> Response:
    body = CardOut.of(shown(card, settings.extension_base)).body()
    return tagged(request, body, state=card.state)
