"""Background jobs and the mail queue, for administrators of the platform."""

from functools import partial
from typing import Annotated, Literal

from fastapi import Path, Query, Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.assembly import ASSEMBLY
from hansa.doors.console.access import SentForm, SignedIn
from hansa.foundation.plumbing import jobs
from hansa.foundation.plumbing.jobs import mail_queue
from hansa.foundation.plumbing.process.runtime import Db
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.foundation.plumbing.telemetry.job_health import Waiting

from .pages import (
    SHOWN,
    Offset,
    PlatformAct,
    PlatformAdministrator,
    administration_page,
    administration_router,
    carry_out,
)

router = administration_router()

JobId = Annotated[int, Path(ge=1, le=2**63 - 1)]
State = Annotated[Literal["waiting", "running", "dead", ""], Query()]
Kind = Annotated[str, Query(max_length=80)]
DONE = {"retry": "retried", "drop": "dropped"}


@router.get("/administration/jobs")
async def list_jobs(
    person: PlatformAdministrator,
    request: Request,
    db: Db,
    *,
    state: State = "",
    kind: Kind = "",
    offset: Offset = 0,
) -> HTMLResponse:
    """Background jobs, the earliest due first."""
    return await _page(request, person, db, SentForm(), state=state, kind=kind, offset=offset)


@router.post("/administration/jobs/{job_id:int}/{act}")
async def act_on_job(
    job_id: JobId, act: Literal["retry", "drop"], sender: PlatformAct, request: Request, db: Db
) -> Response:
    """Run a job now, or delete it with its content."""
    change = jobs.retry_job if act == "retry" else partial(jobs.drop_job, droppable=ASSEMBLY.droppable_jobs)
    return await carry_out(
        request,
        sender,
        lambda tx: change(tx, job_id, sender.person.developer),
        done=f"/administration/jobs?done={DONE[act]}",
        refused=lambda form, status: _page(request, sender.person, db, form, code=status),
    )


@router.get("/administration/mail")
async def show_mail_queue(
    person: PlatformAdministrator, request: Request, db: Db, *, offset: Offset = 0
) -> HTMLResponse:
    """The e-mails that the mail server has not accepted yet, without addresses and contents."""
    query = jobs.JobFilter(mail_queue.KIND, None, SHOWN, offset)

    async def reading(tx: Tx) -> tuple[Waiting, list[jobs.JobView], int]:
        return await mail_queue.waiting_mail(tx), *await jobs.list_jobs(tx, query)

    waiting, found, total = await db.read(reading)
    return administration_page(
        request,
        "mail.html",
        person,
        waiting=waiting,
        jobs=found,
        total=total,
        offset=offset,
    )


async def _page(
    request: Request,
    person: SignedIn,
    db: Database,
    form: SentForm,
    *,
    state: Literal["waiting", "running", "dead", ""] = "",
    kind: str = "",
    offset: int = 0,
    code: int = 200,
) -> HTMLResponse:
    query = jobs.JobFilter(kind or None, state or None, SHOWN, offset)
    found, total = await db.read(lambda tx: jobs.list_jobs(tx, query))
    return administration_page(
        request,
        "jobs.html",
        person,
        form,
        status=code,
        jobs=found,
        droppable=ASSEMBLY.droppable_jobs,
        on_need={one.name for one in ASSEMBLY.jobs if one.has_work is not None},
        total=total,
        offset=offset,
        chosen=state,
        kind=kind,
    )
