"""Pages that an account needs before it can be used: terms, privacy, and the link in the verification mail."""

from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse

from hansa.doors.console.rendering import page
from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.web.caller import Public
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.rooms import people

router = APIRouter(
    include_in_schema=False,
    default_response_class=HTMLResponse,
    route_class=LazyRoute,
    dependencies=[Depends(within_read_limit)],
)


@router.get("/terms")
async def show_terms(_: Public, request: Request, settings: Config) -> HTMLResponse:
    """The terms of use: the operator's text, or that there is none."""
    return page(request, "terms.html", paragraphs=_paragraphs(settings.terms_file))


@router.get("/privacy")
async def show_privacy(_: Public, request: Request, settings: Config) -> HTMLResponse:
    """Show the data stored about a person: the operator's text after that of the software."""
    return page(request, "privacy.html", paragraphs=_paragraphs(settings.privacy_file))


@router.get("/verify-email")
async def show_verification(
    _: Public, request: Request, db: Db, token: Annotated[str, Query(max_length=256)] = ""
) -> HTMLResponse:
    """The link in the verification mail: the first visit verifies the address. It does not log in."""
    try:
        is_first_visit = await db.transaction(lambda tx: people.verify_address(tx, token))
    except people.VerificationLinkInvalid as refusal:
        return page(request, "verification.html", status=refusal.status, refusal=refusal)
    return page(request, "verification.html", refusal=None, is_first_visit=is_first_visit)


def _paragraphs(file: Path | None) -> list[str]:
    """Blank lines separate paragraphs. The file is read for each page, so that a change needs no restart."""
    text = "" if file is None else file.read_text(encoding="utf-8", errors="replace")
    return [paragraph.strip() for paragraph in text.split("\n\n") if paragraph.strip()]
