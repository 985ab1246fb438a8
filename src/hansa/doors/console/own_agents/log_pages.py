"""The log of an own agent: entries of the agent and of the registry, newest first, filtered and, if asked, read again every few seconds."""

import json
from typing import Annotated, Literal
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse

from hansa.doors.console.access import SignedInPerson
from hansa.foundation.plumbing.process.runtime import Db
from hansa.foundation.plumbing.storage.joined_reads import read_together
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.rooms import agents, operations

from .pages import READS, MyDid, agent_page

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse, route_class=LazyRoute)

ENTRIES_ON_A_PAGE = 50
REFRESH_SECONDS = 10
LEVELS = ("DEBUG", "INFO", "WARN", "ERROR")
SOURCES = {"agent": "The agent", "registry": "The registry"}


@router.get("/account/agents/{did}/logs", dependencies=READS)
async def show_log(
    did: MyDid,
    person: SignedInPerson,
    request: Request,
    db: Db,
    *,
    level: Annotated[Literal["", "DEBUG", "INFO", "WARN", "ERROR"], Query()] = "",
    source: Annotated[Literal["", "agent", "registry"], Query()] = "",
    trace: Annotated[str, Query(max_length=64)] = "",
    text: Annotated[str, Query(max_length=200)] = "",
    before: Annotated[str, Query(pattern="^([0-9]{1,18})?$")] = "",
    live: bool = False,
) -> HTMLResponse:
    """A page of the log. With `live` the browser asks for it again, without a script."""
    wanted = operations.EntryFilter(
        ENTRIES_ON_A_PAGE + 1,
        before=int(before) if before else None,
        level=level or None,
        source=source or None,
        trace_id=trace.strip().lower() or None,
        text=text.strip() or None,
    )
    agent, entries = await db.read(
        lambda tx: read_together(
            tx,
            lambda tx: agents.own_agent(tx, person.developer.id, did),
            lambda tx: operations.read_log(tx, person.developer, did, wanted),
        )
    )
    shown = entries[:ENTRIES_ON_A_PAGE]
    chosen = {"level": level, "source": source, "trace": trace, "text": text}
    page = agent_page(
        request,
        "own_agents/logs.html",
        person,
        agent,
        entries=[(entry, _as_text(entry)) for entry in shown],
        chosen=chosen,
        levels=LEVELS,
        sources=SOURCES,
        filters=urlencode({name: value for name, value in chosen.items() if value}),
        before=before,
        older=shown[-1].position if len(entries) > len(shown) else None,
        live=live,
        seconds=REFRESH_SECONDS,
    )
    if live and not before:
        page.headers["Refresh"] = str(REFRESH_SECONDS)
    return page


def _as_text(entry: operations.Entry) -> str | None:
    """The metadata as JSON."""
    return None if entry.metadata is None else json.dumps(entry.metadata, ensure_ascii=False, indent=2)
