"""A step of the wizard for agents without a program: the form of the agent builder, and its project as a file."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import Act, SentForm, SignedIn, SignedInPerson, account_page, whole_number
from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.foundation.values.did import DID_MAX_CHARACTERS
from hansa.foundation.values.errors import Refused
from hansa.rooms import operations

from .pages import READS

router = APIRouter(
    include_in_schema=False, default_response_class=HTMLResponse, route_class=LazyRoute, dependencies=READS
)

TIMEOUT = "wrapper_timeout_seconds"
TYPES = (
    ("paid_function", "A function in Python"),
    ("simple_wrapper", "A service that you run already"),
    ("mcp_server", "A tool of an MCP server"),
    ("adk_agent", "A model with an instruction (Agent Development Kit)"),
)


@router.get("/account/agents/new/project")
async def show_builder(
    person: SignedInPerson,
    request: Request,
    agent: Annotated[str, Query(max_length=DID_MAX_CHARACTERS)] = "",
) -> HTMLResponse:
    """The form of a project; `agent` is the DID of an agent for which it is."""
    return _page(request, person, SentForm([("agent_did", agent)] if agent else ()))


@router.post("/account/agents/new/project")
async def download_project(sender: Act, request: Request, db: Db, settings: Config) -> Response:
    """The project as a file; nothing is stored."""
    form = sender.form
    seconds = {TIMEOUT: whole_number(form.value(TIMEOUT))} if form.value(TIMEOUT) else {}
    try:
        asked = form.read_as(operations.AgentProjectIn, **seconds)
        content = await db.read(
            lambda tx: operations.build_project(tx, sender.person.developer, asked, settings)
        )
    except Refused as refusal:
        return _page(request, sender.person, form.refused(refusal), status=refusal.status)
    headers = {
        "Cache-Control": "no-store",
        "Content-Disposition": f'attachment; filename="{operations.PROJECT_FILE}"',
    }
    return Response(content, media_type=operations.PROJECT_TYPE, headers=headers)


def _page(request: Request, person: SignedIn, form: SentForm, *, status: int = 200) -> HTMLResponse:
    return account_page(request, "own_agents/project.html", person, form, status=status, types=TYPES)
