"""How a page is made: templates that escape everything, and headers that let a browser load nothing from elsewhere."""

import re
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

import hansa
from hansa.doors.console.owner_text import link, theirs
from hansa.foundation.plumbing.runtime import runtime_of
from hansa.foundation.values.visible_text import apart

TEMPLATES = Path(__file__).parent / "templates"
STATIC = Path(__file__).parent / "static"
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
MANIFEST_LINK = '</.well-known/ard.json>; rel="ard"'
NARROW_NO_BREAK_SPACE = "\u202f"

_BETWEEN_BACKTICKS = re.compile(r"`([^`]+)`")
_THOUSANDS = re.compile(r"(?<=\d)(?=(?:\d{3})+(?!\d))")


class ConsoleFiles(StaticFiles):
    """The console's files; a browser keeps them and asks each time whether they are still the same."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        """One file, or 304 where the browser already has it."""
        answer = await super().get_response(path, scope)
        answer.headers["Cache-Control"] = "no-cache"
        return answer


def page(request: Request, template: str, status: int = 200, **content: Any) -> HTMLResponse:
    """One page of the console."""
    text = _PAGES.get_template(template).render(
        settings=runtime_of(request).settings, version=hansa.__version__, path=request.url.path, **content
    )
    headers = {"Content-Security-Policy": CONTENT_SECURITY_POLICY, "Link": MANIFEST_LINK}
    return HTMLResponse(text, status_code=status, headers=headers)


def grouped(amount: str) -> str:
    """A decimal string with its whole part in groups of three."""
    whole, point, fraction = amount.partition(".")
    return _THOUSANDS.sub(NARROW_NO_BREAK_SPACE, whole) + point + fraction


def coded(text: str) -> Markup:
    """Text whose words between backticks are code."""
    return Markup(_BETWEEN_BACKTICKS.sub(r"<code>\1</code>", str(escape(text))))  # noqa: S704


def _moment(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def _day(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d}"


def _phrase(status: int) -> str:
    return HTTPStatus(status).phrase


_PAGES = Environment(
    loader=FileSystemLoader(TEMPLATES),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_PAGES.filters.update(
    apart=apart,
    coded=coded,
    day=_day,
    grouped=grouped,
    link=link,
    moment=_moment,
    phrase=_phrase,
    theirs=theirs,
)
