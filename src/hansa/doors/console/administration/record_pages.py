"""Acts of administrators, and the settings in effect."""

from typing import Annotated
from urllib.parse import urlsplit, urlunsplit

from fastapi import Query, Request
from fastapi.responses import HTMLResponse

from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.settings import ARE_A_SECRET, HOLD_A_PASSWORD, Settings
from hansa.foundation.plumbing.web.admin_acts import AdminActFilter
from hansa.rooms import people

from .pages import SHOWN, Offset, PlatformAdministrator, Words, administration_page, administration_router

router = administration_router()

Act = Annotated[str, Query(max_length=80)]
MASK = "••••••"


@router.get("/administration/log")
async def show_log(
    person: PlatformAdministrator,
    request: Request,
    db: Db,
    *,
    act: Act = "",
    subject: Words = "",
    offset: Offset = 0,
) -> HTMLResponse:
    """Every act of an administrator, newest first."""
    query = AdminActFilter(None, act.strip() or None, subject.strip() or None, SHOWN, offset)
    acts, names, total = await db.read(lambda tx: people.read_audit_log(tx, query))
    return administration_page(
        request,
        "log.html",
        person,
        acts=acts,
        names=names,
        total=total,
        offset=offset,
        act=act,
        subject=subject,
    )


@router.get("/administration/settings")
async def show_settings(person: PlatformAdministrator, request: Request, settings: Config) -> HTMLResponse:
    """The settings in effect, secrets masked."""
    return administration_page(request, "settings.html", person, values=settings_view(settings))


def settings_view(settings: Settings) -> list[tuple[str, str]]:
    """Each setting with its value as text; passwords and secrets are masked."""
    return [
        (member.upper(), _masked(member.upper(), getattr(settings, member)))
        for member in sorted(type(settings).model_fields)
    ]


def _masked(name: str, value: object) -> str:
    if value is None:
        return "not set"
    if name in ARE_A_SECRET:
        return MASK
    if name in HOLD_A_PASSWORD:
        parts = urlsplit(str(value))
        if not parts.netloc:
            return MASK
        user, _, host = parts.netloc.rpartition("@")
        netloc = f"{user.partition(':')[0]}:{MASK}@{host}" if user else host
        return urlunsplit((parts.scheme, netloc, parts.path, "", ""))
    if isinstance(value, list | tuple | set | frozenset):
        return ", ".join(map(str, value)) or "none"
    return str(value)
