"""How a page is made: templates that escape everything, and headers that let a browser load nothing from elsewhere."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from html import unescape
from http import HTTPStatus
from math import inf
from pathlib import Path
from time import perf_counter, time
from typing import Any, Self

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, JSONResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from pydantic import BaseModel
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

import hansa
from hansa.doors.console.highlighting import highlighted
from hansa.doors.console.identity import avatar, chip, party, short_did, system_name
from hansa.doors.console.navigation import explorer_of, place_in
from hansa.doors.console.owner_text import laid_out, link, prose, theirs
from hansa.doors.console.style_sheets import packed_page, style_of, style_sources
from hansa.foundation.plumbing.process.runtime import runtime_of
from hansa.foundation.plumbing.storage.database import Database
from hansa.foundation.plumbing.web.content_encoding import LEVEL_ONCE, accepts_gzip
from hansa.foundation.values.money import Minor, format_amount
from hansa.foundation.values.visible_text import apart
from hansa.rooms import catalogue, governance

Handler = Callable[..., Awaitable[Response]]

TEMPLATES = Path(__file__).parent / "templates"
CONTENT_SECURITY_POLICY = (
    f"default-src 'none'; script-src 'self'; style-src 'self' {style_sources()}; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
PAGE_HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "Link": '</.well-known/ard.json>; rel="ard"',
}
STEP_SECONDS = 0.0003
NARROW_NO_BREAK_SPACE = "\u202f"
# A process has one name, and the menu a place or two for each link.
CHROMES_KEPT_MAX = 64
_VARY_BY_FORM = "Accept, Accept-Encoding"

# What the macro `ago` of parts.html writes, and nothing else does: markup of owners is escaped.
_AGES = re.compile(
    rb'(?P<before><time datetime="(?P<moment>[^"]+)" title="[^"]+">)[^<]+ ago(?P<after></time>)', re.ASCII
)
# Place of a name: the macro `party` of parts.html writes it, and nothing else does.
_UNNAMED = re.compile(rb'<span class="name" data-of="([^"]*)"></span>')
_BETWEEN_BACKTICKS = re.compile(r"`([^`]+)`")
_THOUSANDS = re.compile(r"(?<=\d)(?=(?:\d{3})+(?!\d))")


def page(request: Request, template: str, status: int = 200, **content: Any) -> "NamedPage":
    """One page of the console."""
    text = _PAGES.get_template(template).render(_variables(request, content)).encode()
    headers = {**PAGE_HEADERS, "Vary": "Accept-Encoding"}
    if status == HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = "Bearer"
    return NamedPage(text, status_code=status, headers=headers)


class NamedPage(HTMLResponse):
    """A page that gets the names of the agents on it before it is sent, in one statement; compressed where the reader takes that."""

    _is_complete = False

    async def completed(self, request: Request) -> Self:
        """The page as it is sent. A direct route answers with one that is complete, so that its errors are those of the route."""
        self.body = await with_names(runtime_of(request).database, bytes(self.body))
        if accepts_gzip(request.headers):
            self.body = b"".join(packed_page(self.body, LEVEL_ONCE))
            self.headers["Content-Encoding"] = "gzip"
        self.headers["Content-Length"] = str(len(self.body))
        self._is_complete = True
        return self

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the page."""
        if not self._is_complete:
            await self.completed(Request(scope))
        await super().__call__(scope, receive, send)


async def with_names(database: Database, text: bytes) -> bytes:
    """A page with the name on its card beside each agent, where this registry knows the card."""
    dids = {place: unescape(place.decode()) for place in set(_UNNAMED.findall(text))}
    if not dids:
        return text
    names = await database.query(lambda tx: catalogue.names_by_did(tx, sorted(dids.values())))
    named = {
        place: f'<span class="name">{theirs(names[did])}</span>'.encode()
        for place, did in dids.items()
        if did in names
    }
    return _UNNAMED.sub(lambda found: named.get(found[1], b""), text)


async def rendered_in_steps(request: Request, template: str, **content: Any) -> bytes:
    """The text of a page, rendered in steps of some tenths of a millisecond between which other requests go on."""
    parts: list[str] = []
    ends = perf_counter() + STEP_SECONDS
    for part in _PAGES.get_template(template).generate(_variables(request, content)):
        parts.append(part)
        if perf_counter() > ends:
            await asyncio.sleep(0)
            ends = perf_counter() + STEP_SECONDS
    return "".join(parts).encode()


def _variables(request: Request, content: Mapping[str, Any]) -> dict[str, Any]:
    settings, path = runtime_of(request).settings, request.url.path
    explorer = explorer_of(has_market=settings.exchange_enabled)
    return {
        "settings": settings,
        "version": hansa.__version__,
        "path": path,
        "explorer": explorer,
        "open_chrome": _open_chrome(
            settings.registry_name, place_in(explorer, path), has_market=settings.exchange_enabled
        ),
        **content,
    }


@lru_cache(maxsize=CHROMES_KEPT_MAX)
def _open_chrome(registry_name: str, place: str, *, has_market: bool) -> Markup:
    """The header and the menu of pages without a person: the same for all with one place in the menu."""
    return part(
        "chrome.html",
        settings={"registry_name": registry_name},
        path=place,
        explorer=explorer_of(has_market=has_market),
    )


def with_ages_of_now(text: bytes) -> tuple[bytes, float]:
    """A page as it reads now, and until when it does (seconds since 1970): "2 minutes ago" is soon another age."""
    now, changes_at = time(), inf

    def rewritten(found: re.Match[bytes]) -> bytes:
        nonlocal changes_at
        instant = datetime.fromisoformat(found["moment"].decode()).timestamp()
        words, lasts = _age(now - instant)
        changes_at = min(changes_at, instant + lasts)
        return b"%b%b%b" % (found["before"], words.encode(), found["after"])

    return _AGES.sub(rewritten, text), changes_at


def part(template: str, **content: Any) -> Markup:
    """A part of a page that is the same for all readers."""
    return Markup(_PAGES.get_template(template).render(**content))  # noqa: S704


def both_forms(router: APIRouter, path: str) -> Callable[[Handler], Handler]:
    """Declare a GET route as a page at `path` and as JSON at `path`.json; `page_or_json` answers it."""

    def declare(handler: Handler) -> Handler:
        for address in (path, f"{path}.json"):
            router.add_api_route(address, handler, methods=["GET"])
        return handler

    return declare


def wants_json(request: Request) -> bool:
    """Return whether a page is asked for as JSON: by its address, or by a request that accepts JSON and no page."""
    accepted = request.headers.get("accept", "")
    return request.url.path.endswith(".json") or (
        "application/json" in accepted and "text/html" not in accepted
    )


def page_or_json(request: Request, template: str, document: BaseModel, **content: Any) -> Response:
    """Answer with one page of the console, or its content as JSON."""
    if wants_json(request):
        return json_of_page(document)
    return page_with_json(request, template, shown=document, **content)


def json_of_page(document: BaseModel) -> Response:
    """The content of a page as JSON."""
    return JSONResponse(document.model_dump(mode="json"), headers={"Vary": _VARY_BY_FORM})


def page_with_json(request: Request, template: str, **content: Any) -> NamedPage:
    """One page of the console that has a form as JSON: it gets the address of that as `json_address`."""
    query = f"?{request.url.query}" if request.url.query else ""
    answer = page(request, template, json_address=f"{request.url.path}.json{query}", **content)
    answer.headers["Vary"] = _VARY_BY_FORM
    return answer


def wants_page(request: Request) -> bool:
    """Return whether a browser asks for a page or sends a form: not for the API, nor for a document with a well-known address."""
    return (
        request.scope.get("method") in {"GET", "POST"}
        and "text/html" in request.headers.get("accept", "")
        and not request.url.path.startswith(("/api/", "/.well-known/"))
    )


def error_page(
    request: Request, *, status: int, code: str, detail: str, headers: Mapping[str, str]
) -> HTMLResponse:
    """A refusal as a page with the navigation of every page."""
    answer = page(request, "error.html", status=status, error_status=status, code=code, detail=detail)
    answer.headers.update(headers)
    return answer


def grouped(amount: str) -> str:
    """A decimal string with its whole part in groups of three."""
    whole, point, fraction = amount.partition(".")
    return _THOUSANDS.sub(NARROW_NO_BREAK_SPACE, whole) + point + fraction


def coded(text: str) -> Markup:
    """Text whose words between backticks are code."""
    return Markup(_BETWEEN_BACKTICKS.sub(r"<code>\1</code>", str(escape(text))))  # noqa: S704


def _moment(timestamp: datetime) -> str:
    return f"{timestamp.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def _age_in_words(seconds: float) -> str:
    return _age(seconds)[0]


def _ago(instant: datetime) -> str:
    """How long ago, in the largest unit that fits."""
    return _age(time() - instant.timestamp())[0]


def _age(seconds: float) -> tuple[str, int]:
    """The age in words, and up to how many seconds it is called so."""
    for name, length in (("day", 86_400), ("hour", 3600), ("minute", 60)):
        number = int(max(0, seconds)) // length
        if number:
            return f"{number} {name}{'' if number == 1 else 's'} ago", (number + 1) * length
    return "less than a minute ago", 60


def _units(amount: int) -> str:
    return format_amount(Minor(amount))


def _day(timestamp: datetime) -> str:
    return f"{timestamp.astimezone(UTC):%Y-%m-%d}"


def _phrase(status: int) -> str:
    return HTTPStatus(status).phrase


_PAGES = Environment(
    loader=FileSystemLoader(TEMPLATES),
    autoescape=True,
    undefined=StrictUndefined,
    # The files are those of the version that runs: each is read once.
    auto_reload=False,
    trim_blocks=True,
    lstrip_blocks=True,
)
_PAGES.filters.update(
    age=_age_in_words,
    ago=_ago,
    apart=apart,
    avatar=avatar,
    chip=chip,
    coded=coded,
    day=_day,
    grouped=grouped,
    highlighted=highlighted,
    laid_out=laid_out,
    link=link,
    moment=_moment,
    party=party,
    phrase=_phrase,
    prose=prose,
    replay_command=governance.replay_command,
    short_did=short_did,
    style=style_of,
    system_name=system_name,
    theirs=theirs,
    units=_units,
)
