"""The status page: whether this registry works, part by part."""

from datetime import datetime
from typing import Literal

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

import hansa
from hansa.doors.console.rendering import both_forms, page_or_json
from hansa.foundation.plumbing.process.runtime import Config, Db, Jobs
from hansa.foundation.plumbing.process.write_probe import Probe, WriteProbe
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Database
from hansa.foundation.plumbing.web.caller import Public
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.foundation.values.errors import Unavailable
from hansa.foundation.values.lazy_model import LazyModel
from hansa.rooms import auditor

# Without a limit: it is counted in the database, and the page says so when the database is away.
router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse, route_class=LazyRoute)

State = Literal["ok", "degraded", "failed"]


class Component(LazyModel):
    """One part. `degraded` affects no requests; `failed` does."""

    name: str
    state: State
    detail: str
    since: datetime | None = None


class StatusOut(LazyModel):
    """The worst state of all parts, and each of them. With `failed` the status code is 503."""

    state: State
    version: str
    components: list[Component]


@both_forms(router, "/status")
async def show_status(
    _: Public, request: Request, db: Db, settings: Config, jobs: Jobs, probe: Probe
) -> Response:
    """Show whether the database answers and takes writes, the supply is in balance and attested, and jobs succeed."""
    components = [
        await _writes(probe),
        *await _supply(db, settings),
        *(
            Component(name=f"Job “{job.name}”", state="degraded", detail=job.error, since=job.since)
            for job in jobs.failing()
        ),
    ]
    states = {component.state for component in components}
    state: State = "failed" if "failed" in states else "degraded" if "degraded" in states else "ok"
    found = StatusOut(state=state, version=hansa.__version__, components=components)
    answer = page_or_json(request, "status.html", found)
    answer.status_code = 503 if state == "failed" else 200
    return answer


async def _writes(probe: WriteProbe) -> Component:
    try:
        await probe.require()
    except Unavailable as error:
        return Component(name="Database", state="failed", detail=error.detail)
    return Component(name="Database", state="ok", detail="Reads and writes are accepted.")


async def _supply(db: Database, settings: Settings) -> list[Component]:
    try:
        watch = await auditor.watch_supply(db)
        chain = await db.read(lambda tx: auditor.read_watch(tx, settings.ledger_id))
    except Unavailable as error:
        return [Component(name="Supply", state="failed", detail=error.detail)]
    supply = Component(
        name="Supply",
        state="ok" if watch.is_ok else "failed",
        detail="In balance." if watch.is_ok else "The supply does not add up.",
        since=watch.checked_at,
    )
    attestations = Component(
        name="Attestations",
        state="ok" if chain.is_watched else "degraded",
        detail="The newest record is recent." if chain.is_watched else "There is no recent record.",
        since=chain.head.ts if chain.head else None,
    )
    return [supply, attestations]
