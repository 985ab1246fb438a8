"""Availability of an agent as a page with its 90 days and the command that verifies them, and as the image that pages of agents show."""

from collections.abc import Sequence
from typing import Annotated

import msgspec
from fastapi import APIRouter, Depends, Path, Request
from fastapi.responses import HTMLResponse, Response
from markupsafe import Markup

from hansa.doors.console.day_strips import percent, strip_of
from hansa.doors.console.rendering import page
from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.web.caller import Public
from hansa.foundation.plumbing.web.entity_tags import tagged
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.foundation.values.did import DID_MAX_CHARACTERS
from hansa.rooms import catalogue
from hansa_verify import Bounds, bounds_of_day, bounds_of_days

IMAGE_HEADERS = {
    "Cache-Control": "public, max-age=300",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'",
    "X-Content-Type-Options": "nosniff",
}
LOWEST_SHOWN = 5

router = APIRouter(
    include_in_schema=False,
    default_response_class=HTMLResponse,
    route_class=LazyRoute,
    dependencies=[Depends(within_read_limit)],
)

Did = Annotated[str, Path(max_length=DID_MAX_CHARACTERS)]


class MeasuredAgent(msgspec.Struct, frozen=True):
    """Days of an agent as a page shows them."""

    days: Sequence[catalogue.ProbedDay]

    @property
    def lower(self) -> str | None:
        """Lower bound of 90 days in percent; None where nothing was measured."""
        return percent(float(self._bounds.lower)) if self.measured else None

    @property
    def upper(self) -> str | None:
        """Upper bound of 90 days in percent."""
        return percent(float(self._bounds.upper)) if self.measured else None

    @property
    def measured(self) -> int:
        """Days with probes."""
        return self._bounds.measured

    @property
    def lowest(self) -> list[tuple[str, str, str, int]]:
        """The days of the lowest bounds: day, lower and upper bound in percent, measured hours."""
        found = [(bounds_of_day(one.hours), one.day.isoformat()) for one in self.days if one.hours]
        below = sorted((bounds.lower, day, bounds) for bounds, day in found if bounds.lower < 1)
        return [
            (day, percent(float(bounds.lower)), percent(float(bounds.upper)), bounds.measured)
            for _, day, bounds in below[:LOWEST_SHOWN]
        ]

    @property
    def summary(self) -> str:
        """The days in words."""
        if not self.measured:
            return "Availability: not measured yet."
        return f"Availability: {self.lower} to {self.upper} in {self.measured} measured days of {len(self.days)}."

    def drawn(self, *, is_image: bool = False) -> Markup:
        """The days as a strip, each by its lower bound."""
        shares = [float(bounds_of_day(one.hours).lower) if one.hours else None for one in self.days]
        return strip_of(shares, self.summary, is_image=is_image)

    @property
    def _bounds(self) -> Bounds:
        return bounds_of_days(bounds_of_day(one.hours or ()) for one in self.days)


@router.get("/availability/{did}.svg")
async def show_availability_image(did: Did, _: Public, request: Request, db: Db) -> Response:
    """The 90 days of an agent as an image. Raises: CardUnknown."""
    found = MeasuredAgent(await db.read(lambda tx: catalogue.measured_days(tx, did)))
    image = found.drawn(is_image=True)
    return tagged(request, image.encode(), media_type="image/svg+xml", headers=IMAGE_HEADERS)


@router.get("/availability/{did}")
async def show_availability(did: Did, _: Public, request: Request, db: Db, settings: Config) -> Response:
    """The availability of an agent, and how it is verified."""
    try:
        days = await db.read(lambda tx: catalogue.measured_days(tx, did))
    except catalogue.CardUnknown:
        return page(request, "agent-unknown.html", status=404, key=did)
    return page(
        request,
        "availability.html",
        did=did,
        found=MeasuredAgent(days),
        address=f"{settings.base_url}/api/v1/agents/{did}/availability",
    )
