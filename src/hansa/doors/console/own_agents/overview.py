"""One own agent at a glance: its state, its health, its listing."""

from fastapi import Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import Act, SentForm, SignedIn, SignedInPerson, see_other
from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.values.errors import Refused
from hansa.rooms import catalogue

from .card_text import editor_of
from .pages import MyDid, agent_page, own_agent, path_of, settings_router

router = settings_router()


@router.get("")
async def show_agent(did: MyDid, person: SignedInPerson, request: Request, db: Db) -> HTMLResponse:
    """The state of an own agent, its health and its listing."""
    return await _overview(request, person, db, did)


@router.post("/listing")
async def change_listing(
    did: MyDid,
    sender: Act,
    request: Request,
    *,
    db: Db,
    cards: catalogue.CardWrites,
    settings: Config,
    owners: catalogue.Owners,
) -> Response:
    """Show the agent in the catalogue, hide it there, or withdraw its card."""
    person, choice = sender.person, sender.form.value("listing")
    await own_agent(db, person, did)
    editor = editor_of(person, did, settings)
    try:
        if choice in {"listed", "unlisted"}:
            await cards.transaction(
                lambda tx: catalogue.edit_card(tx, editor, catalogue.CardEdit(None, is_active=True), owners)
            )
            is_unlisted = choice == "unlisted"
            await cards.transaction(
                lambda tx: catalogue.list_or_unlist(tx, editor, owners, unlisted=is_unlisted)
            )
        elif choice == "withdrawn":
            await cards.transaction(
                lambda tx: catalogue.edit_card(tx, editor, catalogue.CardEdit(None, is_active=False), owners)
            )
    except Refused as refusal:
        refused = sender.form.refused(refusal)
        return await _overview(request, person, db, did, refused, status=refusal.status)
    return see_other(f"{path_of(did)}?done=listing")


async def _overview(
    request: Request, person: SignedIn, db: Db, did: str, form: SentForm | None = None, *, status: int = 200
) -> HTMLResponse:
    agent = await own_agent(db, person, did)
    card = await db.read(lambda tx: catalogue.card_of_agent(tx, did))
    return agent_page(
        request,
        "own_agents/overview.html",
        person,
        agent,
        form,
        status=status,
        card=card,
        listing="withdrawn" if not card.is_active else "unlisted" if card.unlisted else "listed",
        done=request.query_params.get("done", ""),
    )
