"""Pulls of agents' cards, and reactors with the events that they set aside, for administrators of the platform."""

from typing import Annotated

from fastapi import Depends, Path, Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import see_other
from hansa.foundation.plumbing.jobs.reactors import Reactor
from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.room import REACTORS
from hansa.rooms import catalogue, journal

from .pages import PlatformAct, PlatformAdministrator, administration_page, administration_router

router = administration_router()

ReactorName = Annotated[str, Path(max_length=80)]
Reactors = Annotated[tuple[Reactor, ...], Depends(REACTORS.given)]


@router.get("/administration/pulls")
async def show_pulls(
    person: PlatformAdministrator, request: Request, db: Db, settings: Config
) -> HTMLResponse:
    """The status of the pulls of agents' cards, and which of them fail."""
    interval = settings.card_pull_interval_seconds
    cycle = await db.read(lambda tx: catalogue.pull_cycle(tx, interval))
    status = catalogue.PullStatus.of(
        cycle, interval_seconds=interval, liveness_interval_seconds=settings.card_liveness_interval_seconds
    )
    return administration_page(request, "pulls.html", person, shown=status)


@router.get("/administration/reactors")
async def show_reactors(
    person: PlatformAdministrator, request: Request, db: Db, reactors: Reactors
) -> HTMLResponse:
    """The progress of each reactor, and the events that it set aside."""
    readings = await db.read(lambda tx: journal.read_reactors(tx, reactors))
    return administration_page(request, "reactors.html", person, readings=readings)


@router.post("/administration/reactors/{name}/retry")
async def retry_reactor(name: ReactorName, sender: PlatformAct, reactors: Reactors, db: Db) -> Response:
    """Retry the events that a reactor set aside, each in a transaction of its own. Raises: ReactorUnknown.

    An event that was reacted to is not set aside any more: sent twice, the form retries the events that failed again.
    """
    await journal.resume_events(db, reactors, name, sender.person.developer)
    return see_other("/administration/reactors?done=retried")
