"""The card of an own agent as JSON: judged, compared with the stored one, and saved after both were seen."""

from fastapi import Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import Act, SentForm, SignedIn, SignedInPerson, see_other
from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.values.errors import Refused
from hansa.rooms import catalogue

from .card_text import card_in, difference, editor_of, notes_of, text_of
from .pages import MyDid, agent_page, own_agent, path_of, settings_router

router = settings_router()


@router.get("/card")
async def show_editor(did: MyDid, person: SignedInPerson, request: Request, db: Db) -> HTMLResponse:
    """The stored card, to be edited."""
    return await _editor(request, person, db, did)


@router.post("/card/review")
async def review(did: MyDid, sender: Act, request: Request, db: Db) -> Response:
    """Judge the edited card and show how it differs; nothing is saved."""
    person, form = sender.person, sender.form
    agent = await own_agent(db, person, did)
    try:
        edited = card_in(form.value("card"))
    except Refused as refusal:
        return await _editor(request, person, db, did, form.refused(refusal), status=refusal.status)
    card = await db.read(lambda tx: catalogue.card_of(tx, did))
    checked = catalogue.preview_edit(card, edited)
    return agent_page(
        request,
        "own_agents/card-review.html",
        person,
        agent,
        form,
        status=200 if checked.card is not None else 422,
        troubles=notes_of(checked.troubles),
        completions=notes_of(checked.completions),
        lines=difference(card.card_data, checked.card) if checked.card is not None else [],
        card=card,
        text=form.value("card"),
        opened=form.value("state"),
    )


@router.post("/card")
async def save(
    did: MyDid,
    sender: Act,
    request: Request,
    *,
    db: Db,
    cards: catalogue.CardWrites,
    settings: Config,
    owners: catalogue.Owners,
) -> Response:
    """Save the edited card, unless it was changed since it was opened."""
    person, form = sender.person, sender.form
    await own_agent(db, person, did)
    try:
        edited = card_in(form.value("card"))
        if not isinstance(edited, dict):
            raise catalogue.CardInvalid("$: An agent card is a JSON object.", field="card")
        edit = catalogue.CardEdit(edited, None)
        editor = editor_of(person, did, settings, form.value("state"))
        await cards.transaction(lambda tx: catalogue.edit_card(tx, editor, edit, owners))
    except Refused as refusal:
        refused = form.refused(refusal)
        return await _editor(request, person, db, did, refused, status=refusal.status)
    return see_other(f"{path_of(did)}/card?done=saved")


async def _editor(
    request: Request, person: SignedIn, db: Db, did: str, form: SentForm | None = None, *, status: int = 200
) -> HTMLResponse:
    agent = await own_agent(db, person, did)
    card = await db.read(lambda tx: catalogue.card_of(tx, did))
    return agent_page(
        request,
        "own_agents/card.html",
        person,
        agent,
        form,
        status=status,
        card=card,
        text=text_of(card.card_data),
        done=request.query_params.get("done", ""),
    )
