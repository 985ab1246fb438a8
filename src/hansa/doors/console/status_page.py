"""The status page, whether this registry works, part by part, and its feed of incidents; the showcase of agents."""

from collections.abc import Sequence
from html import escape

import msgspec
from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, Response
from markupsafe import Markup

from hansa.doors.console.day_strips import percent, strip_of
from hansa.doors.console.rendering import both_forms, page_or_json
from hansa.foundation.plumbing.process.runtime import Config, Db, runtime_of
from hansa.foundation.plumbing.web.caller import Public
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.foundation.values.visible_text import seen
from hansa.rooms import catalogue, status

# Without a limit: it is counted in the database, and the page says so when the database is away.
router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse, route_class=LazyRoute)
showcase_router = APIRouter(
    include_in_schema=False,
    default_response_class=HTMLResponse,
    route_class=LazyRoute,
    dependencies=[Depends(within_read_limit)],
)

WORST_SHOWN = 3


class Strip(msgspec.Struct, frozen=True):
    """Uptime of one component: the days drawn in a row, and the same in words."""

    component: status.ComponentOut
    days: Sequence[status.DayOut]

    @property
    def name(self) -> str:
        """The component as a page names it."""
        return "MCP" if self.component.name == "mcp" else self.component.name.capitalize()

    @property
    def share(self) -> str:
        """Mean of the days that are known, in percent; a dash without any."""
        known = self._known
        return percent(sum(share for _, share in known) / len(known)) if known else "–"

    @property
    def summary(self) -> str:
        """The days in words, the worst of them by name."""
        known = self._known
        if not known:
            return f"{self.name}: not measured yet."
        worst = sorted((share, day) for day, share in known if share < 1)[:WORST_SHOWN]
        named = ", ".join(f"{day} {percent(share)}" for share, day in worst)
        return f"{self.name}: {self.share} of {len(known)} days." + (f" Lowest: {named}." if named else "")

    @property
    def svg(self) -> Markup:
        """The days as a strip, the oldest first; days alike are one bar."""
        return strip_of([day.uptime for day in self.days], self.summary)

    @property
    def _known(self) -> list[tuple[object, float]]:
        return [(day.day, day.uptime) for day in self.days if day.uptime is not None]


@both_forms(router, "/status")
async def show_status(_: Public, request: Request) -> Response:
    """Show the state of each component, its uptime of 90 days, and incidents."""
    found = await status.read_status(runtime_of(request))
    answer = page_or_json(
        request,
        "status.html",
        found,
        strips=[Strip(component, found.uptime.get(component.name, ())) for component in found.components],
        open_incidents=[one for one in found.incidents if one.state != "resolved"],
        past_incidents=[one for one in found.incidents if one.state == "resolved"],
    )
    answer.status_code = 503 if found.state == "failed" else 200
    return answer


@router.get("/status.atom")
async def feed_of_incidents(_: Public, db: Db, settings: Config) -> Response:
    """Incidents and maintenances as an Atom feed, the one that changed last first. Raises: Unavailable."""
    incidents = [status.IncidentOut.of(one) for one in await db.query(status.read_incidents)]
    incidents.sort(key=lambda one: one.updated_at, reverse=True)
    address = f"{settings.base_url}/status"
    updated = incidents[0].updated_at.isoformat() if incidents else "2026-01-01T00:00:00+00:00"
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        '<feed xmlns="http://www.w3.org/2005/Atom">',
        f"<id>{escape(address)}</id><title>{escape(seen(settings.registry_name))}: status</title>",
        f'<updated>{updated}</updated><link href="{escape(address)}"/>',
        f'<link rel="self" href="{escape(address)}.atom"/>',
        f"<author><name>{escape(seen(settings.registry_name))}</name></author>",
        *(_entry(one, address) for one in incidents),
        "</feed>",
    ]
    return Response("\n".join(lines), media_type="application/atom+xml")


@both_forms(showcase_router, "/showcase")
async def show_showcase(_: Public, request: Request, db: Db, searcher: catalogue.Search) -> Response:
    """Show agents of this registry that anybody may call, and why each is shown."""
    found = catalogue.ShowcaseOut.of(*await catalogue.read_showcase(searcher, db))
    return page_or_json(request, "showcase.html", found)


def _entry(one: status.IncidentOut, address: str) -> str:
    texts = [f"{update.state}: {update.body}" for update in one.updates]
    content = escape(seen("\n\n".join([*texts, one.body])))
    return (
        f"<entry><id>urn:uuid:{one.id}</id><title>{escape(seen(one.title))}</title>"
        f'<link href="{escape(address)}#incident-{one.id}"/><category term="{one.kind}"/>'
        f"<published>{one.created_at.isoformat()}</published><updated>{one.updated_at.isoformat()}</updated>"
        f'<content type="text">{content}</content></entry>'
    )
