"""The end of an own agent: permanent, so the password and its name are asked for."""

from fastapi import Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import (
    FormRefused,
    ProvedAct,
    SentForm,
    SignedIn,
    SignedInPerson,
    see_other,
)
from hansa.foundation.plumbing.process.runtime import Db, runtime_of
from hansa.foundation.values.errors import Refused
from hansa.rooms import agents, catalogue

from .pages import MyDid, agent_page, own_agent, path_of, settings_router

router = settings_router()


@router.get("/end")
async def show_end(did: MyDid, person: SignedInPerson, request: Request, db: Db) -> HTMLResponse:
    """Show the effects of ending the agent, and the form that does it."""
    return await _end_page(request, person, db, did)


@router.post("/end")
async def end(
    did: MyDid, sender: ProvedAct, request: Request, db: Db, cards: catalogue.CardWrites
) -> Response:
    """Revoke the agent permanently; one that has ended is no trouble."""
    person = sender.person
    await own_agent(db, person, did)
    require_unbound = agents.REQUIRE_UNBOUND.of(runtime_of(request))
    try:
        if sender.form.value("understood") != "true":
            raise FormRefused({"understood": "Confirm that the agent ends permanently."})
        await cards.transaction(lambda tx: agents.end_own_agent(tx, person.developer, did, require_unbound))
    except Refused as refusal:
        refused = sender.form.refused(refusal)
        return await _end_page(request, person, db, did, refused, status=refusal.status)
    return see_other(f"{path_of(did)}?done=ended")


async def _end_page(
    request: Request, person: SignedIn, db: Db, did: str, form: SentForm | None = None, *, status: int = 200
) -> HTMLResponse:
    agent = await own_agent(db, person, did)
    return agent_page(request, "own_agents/end.html", person, agent, form, status=status)
