"""The API reference: every operation on one page, a page for each, and the interactive description."""

from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import HTMLResponse
from markupsafe import Markup

from hansa.doors.console.api_reference import api_document, operation_details, operations_by_tag
from hansa.doors.console.rendering import page, part
from hansa.foundation.plumbing.process.runtime import Config
from hansa.foundation.plumbing.web.caller import Public
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.foundation.values.errors import NotFound

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse, route_class=LazyRoute)

LISTED = "operations_listed"


class OperationUnknown(NotFound):
    """The API has no operation with this id."""

    code = "OPERATION_UNKNOWN"
    sentence = "The API has no operation with this id."
    remedy = "Choose one of the list at /docs."


@router.get("/docs")
async def show_docs(_: Public, request: Request) -> HTMLResponse:
    """Every operation by subject, for the search of a browser; nothing on it needs a script."""
    return page(request, "docs.html", operations=await _operations(request.app))


async def _operations(app: FastAPI) -> Markup:
    """The list of all operations, which changes with the version alone."""
    listed: Markup | None = getattr(app.state, LISTED, None)
    if listed is None:
        listed = part("docs-operations.html", groups=operations_by_tag(await api_document(app)))
        setattr(app.state, LISTED, listed)
    return listed


@router.get("/docs/operations/{name}")
async def show_operation(_: Public, request: Request, settings: Config, name: str) -> HTMLResponse:
    """One operation: its credential, parameters, bodies with examples, and errors. Raises: OperationUnknown."""
    found = operation_details(await api_document(request.app), name, settings.base_url)
    if found is None:
        raise OperationUnknown
    return page(request, "operation.html", found=found)


@router.get("/docs/try")
async def show_interactive(_: Public, request: Request) -> HTMLResponse:
    """The interactive description of the API."""
    return page(request, "docs-try.html")
