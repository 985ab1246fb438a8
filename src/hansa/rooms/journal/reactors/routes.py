"""Reactors over HTTP, for administrators of the platform."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path

from hansa.foundation.plumbing.jobs.reactors import Reactor
from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.room import REACTORS
from hansa.foundation.plumbing.web.bodies import GuardedRoute
from hansa.foundation.plumbing.web.caller import Developer, admin_holding
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import Invalid, Unauthorized

from .administering import read_reactors, resume_events
from .errors import ReactorUnknown
from .schemas import ReactorOut, ReactorsOut, ResumedOut

router = APIRouter(prefix="/admin/reactors", route_class=GuardedRoute)

Administrator = Annotated[Developer, admin_holding("admin_platform")]


Reactors = Annotated[tuple[Reactor, ...], Depends(REACTORS.given)]


@router.get("", responses=problems(Unauthorized))
async def read_all_reactors(_: Administrator, reactors: Reactors, db: Db, settings: Config) -> ReactorsOut:
    """The progress of each reactor, and the events that it set aside."""
    readings = await db.read(lambda tx: read_reactors(tx, reactors))
    return ReactorsOut(
        items=[ReactorOut.of(reading) for reading in readings],
        enabled=settings.reactor_framework_enabled,
    )


@router.post("/{name}/retry", responses=problems(Unauthorized, ReactorUnknown, Invalid))
async def retry_what_was_set_aside(
    name: Annotated[str, Path(max_length=80)], administrator: Administrator, reactors: Reactors, db: Db
) -> ResumedOut:
    """Retry the events that a reactor set aside."""
    return ResumedOut.of(await resume_events(db, reactors, name, administrator))
