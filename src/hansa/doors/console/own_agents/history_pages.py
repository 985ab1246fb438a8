"""The history of an own agent in sentences, with the events that only the agent and its owner see."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse

from hansa.doors.console.access import SignedInPerson
from hansa.doors.console.event_lines import EventLine
from hansa.doors.console.event_pages import PUBLIC_TYPES, Cursor, Ledger
from hansa.doors.console.event_sentences import ENTRIES_OF_THE_LEDGER
from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.storage.joined_reads import read_together
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.rooms import agents, journal

from .pages import READS, MyDid, agent_page

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse, route_class=LazyRoute)

PAGE_SIZE = 50


@router.get("/account/agents/{did}/history", dependencies=READS)
async def show_history(
    did: MyDid,
    person: SignedInPerson,
    request: Request,
    db: Db,
    settings: Config,
    *,
    ledger: Ledger,
    before: Cursor = "",
    with_entries: Annotated[bool, Query(alias="entries")] = False,
) -> HTMLResponse:
    """The events in which an own agent takes part, newest first, without those that repeat others as entries of the ledger."""
    query = journal.PublicFilter(
        settings.ledger_id,
        PAGE_SIZE,
        did=did,
        cursor=before or None,
        left_out=() if with_entries else ENTRIES_OF_THE_LEDGER,
    )
    agent, (events, older) = await db.read(
        lambda tx: read_together(
            tx,
            lambda tx: agents.own_agent(tx, person.developer.id, did),
            lambda tx: journal.list_own_events(tx, query, ledger),
        )
    )
    return agent_page(
        request,
        "own_agents/history.html",
        person,
        agent,
        lines=[EventLine.of(event) for event in events],
        public_types=PUBLIC_TYPES,
        before=before,
        older=older,
        with_entries=with_entries,
    )
