"""The guides and the changelog of this version as pages, and where to ask for help."""

from typing import Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, PlainTextResponse

from hansa.doors.console import guide_text
from hansa.doors.console.rendering import page
from hansa.foundation.plumbing.process.runtime import Db, runtime_of
from hansa.foundation.plumbing.web.caller import Public
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.foundation.values.errors import NotFound
from hansa.rooms import federation

router = APIRouter(
    include_in_schema=False,
    default_response_class=HTMLResponse,
    route_class=LazyRoute,
    dependencies=[Depends(within_read_limit)],
)


class GuideUnknown(NotFound):
    """There is no guide with this name."""

    code = "GUIDE_UNKNOWN"
    sentence = "There is no guide with this name."
    remedy = "Choose one of the list at /guides."


@router.get("/guides")
async def show_guides(_: Public, request: Request, db: Db) -> HTMLResponse:
    """Every guide by subject, and the contacts of the operator."""
    operator = await db.read(federation.read_operator)
    return page(request, "guides.html", groups=guide_text.guides(), contacts=_contacts(operator))


@router.get("/guides/start.sh", response_class=PlainTextResponse)
async def send_start_file(_: Public, request: Request) -> PlainTextResponse:
    """Shell functions that the commands of the guides use, with the address of this registry."""
    return PlainTextResponse(guide_text.start_file(runtime_of(request).settings.base_url))


@router.get("/guides/{name}")
async def show_guide(_: Public, request: Request, name: str) -> HTMLResponse:
    """One guide. Raises: GuideUnknown."""
    found = guide_text.guide(name, runtime_of(request).settings.base_url)
    if found is None:
        raise GuideUnknown
    before, after = guide_text.neighbours(name)
    return page(request, "guide.html", guide=found, before=before, after=after)


@router.get("/changelog")
async def show_changelog(_: Public, request: Request) -> HTMLResponse:
    """Show the changes for users."""
    return page(request, "guide.html", guide=guide_text.changelog(), before=None, after=None)


def _contacts(operator: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the contacts on the registry card: e-mail addresses first, each once."""
    support = operator.get("support_contact") or {}
    declared = [
        ("E-mail", support.get("email")),
        ("E-mail", operator.get("contact_email")),
        ("Matrix", support.get("matrix")),
        ("Signal", support.get("signal")),
    ]
    return list(dict.fromkeys((kind, value) for kind, value in declared if value))
