"""The API reference: every operation on one page, and a page for each with its errors and its code."""

from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import HTMLResponse
from markupsafe import Markup, escape

from hansa.doors.console.api_reference import (
    Document,
    OperationDetails,
    api_document,
    operation_details,
    operations_by_tag,
    subject_of,
)
from hansa.doors.console.rendering import page, part
from hansa.foundation.plumbing.process.runtime import Config
from hansa.foundation.plumbing.web.caller import Public
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.foundation.values.errors import NotFound

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse, route_class=LazyRoute)

LISTED, CONTENTS = "reference-operations.html", "reference-contents.html"
EXAMPLE = "discover_agents"
"""The operation whose code stands on the first page."""


class OperationUnknown(NotFound):
    """The API has no operation with this id."""

    code = "OPERATION_UNKNOWN"
    sentence = "The API has no operation with this id."
    remedy = "Choose one of the list at /docs."


@router.get("/docs")
async def show_docs(_: Public, request: Request, settings: Config) -> HTMLResponse:
    """Every operation by subject, for the search of a browser; nothing on it needs a script."""
    document = await api_document(request.app)
    return page(
        request,
        "docs.html",
        contents=_listed(request.app, CONTENTS, document),
        operations=_listed(request.app, LISTED, document),
        total=sum(map(len, document["paths"].values())),
        example=operation_details(document, EXAMPLE, settings.base_url),
    )


@router.get("/docs/operations/{name}")
async def show_operation(_: Public, request: Request, settings: Config, name: str) -> HTMLResponse:
    """One operation: its credential, parameters, bodies with examples, errors and code. Raises: OperationUnknown."""
    found, contents = await operation_of(request.app, name, settings.base_url)
    return page(request, "operation.html", found=found, contents=contents)


async def operation_of(app: FastAPI, name: str, base_url: str) -> tuple[OperationDetails, Markup]:
    """The operation with this id, and the contents of the reference, open at it. Raises: OperationUnknown."""
    document = await api_document(app)
    found = operation_details(document, name, base_url)
    if found is None:
        raise OperationUnknown
    subjects = [tag for tag, _, _ in operations_by_tag(document)]
    contents = str(_listed(app, CONTENTS, document))
    for before, after in (
        (f'<details id="in-{subjects.index(found.tag) + 1}"', " open"),
        (f'href="{escape(found.operation.address)}"', ' aria-current="page"'),
    ):
        contents = contents.replace(before, before + after, 1)
    return found, Markup(contents)  # noqa: S704


def _listed(app: FastAPI, template: str, document: Document) -> Markup:
    """A list of all operations, which changes with the version alone."""
    listed: Markup | None = getattr(app.state, template, None)
    if listed is None:
        groups = [(subject_of(tag), *group) for tag, *group in operations_by_tag(document)]
        listed = part(template, groups=groups)
        setattr(app.state, template, listed)
    return listed
