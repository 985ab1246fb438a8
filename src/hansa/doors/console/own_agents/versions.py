"""The versions that the card of an own agent had, and how each differs from the one before."""

from typing import Annotated

from fastapi import Path, Request
from fastapi.responses import HTMLResponse

from hansa.doors.console.access import SignedIn, SignedInPerson
from hansa.foundation.plumbing.process.runtime import Db, runtime_of
from hansa.rooms import catalogue

from .card_text import difference, text_of
from .pages import MyDid, agent_page, own_agent, settings_router

router = settings_router()

VERSION_MAX = 2**31 - 1


@router.get("/versions")
async def show_versions(did: MyDid, person: SignedInPerson, request: Request, db: Db) -> HTMLResponse:
    """The versions of the card, the newest first."""
    agent = await own_agent(db, person, did)
    reader = _reader(request, person)
    found = await db.read(lambda tx: catalogue.history_of(tx, did, reader))
    return agent_page(request, "own_agents/versions.html", person, agent, versions=found)


@router.get("/versions/{version:int}")
async def show_version(
    did: MyDid,
    version: Annotated[int, Path(ge=1, le=VERSION_MAX)],
    person: SignedInPerson,
    request: Request,
    db: Db,
) -> HTMLResponse:
    """Show one version, and its changes."""
    agent = await own_agent(db, person, did)
    reader = _reader(request, person)
    found, before = await db.read(lambda tx: catalogue.version_and_before(tx, did, version, reader))
    lines = [] if before is None else difference(before.card_data, found.card_data)
    return agent_page(
        request,
        "own_agents/version.html",
        person,
        agent,
        found=found,
        lines=lines,
        text=text_of(found.card_data),
    )


def _reader(request: Request, person: SignedIn) -> catalogue.CardReader:
    return catalogue.CardReader(person.developer.id, catalogue.AGENT_RIGHT.of(runtime_of(request)))
