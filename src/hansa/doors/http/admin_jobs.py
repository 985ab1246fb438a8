"""Background jobs over HTTP, for administrators of the platform."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Path, Query
from msgspec.structs import asdict
from pydantic import Field

from hansa.doors.assembly import ASSEMBLY
from hansa.foundation.plumbing import jobs
from hansa.foundation.plumbing.process.runtime import Db
from hansa.foundation.plumbing.web.bodies import GuardedRoute
from hansa.foundation.plumbing.web.caller import Developer, admin_holding
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import Invalid, Unauthorized
from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.paging import Page, Pagination

BIGINT_MAX = 2**63 - 1

router = APIRouter(prefix="/admin/jobs", tags=["administrators"], route_class=GuardedRoute)

Administrator = Annotated[Developer, admin_holding("admin_platform")]
JobId = Annotated[int, Path(ge=1, le=BIGINT_MAX)]


class JobsQuery(LazyModel):
    """Which background jobs."""

    kind: Annotated[str, Field(max_length=80)] | None = Field(default=None, description="Jobs of this kind.")
    state: jobs.State | None = Field(default=None, description="Jobs in this state.")
    limit: int = Field(default=50, ge=1, le=1000)
    offset: int = Field(default=0, ge=0, le=10**9)


class JobOut(LazyModel):
    """A background job, without its content."""

    id: int
    kind: str = Field(examples=["mail"])
    key: str = Field(
        description="Unique within the kind; `schedule` for scheduled work.",
        examples=["8c3d2f0e5b7a4d1c9e6f0a1b2c3d4e5f"],
    )
    state: jobs.State
    due_at: datetime = Field(description="When it runs next.")
    attempts: int = Field(description="Failed attempts in a row, including the current one while it runs.")
    last_error: str | None = Field(
        description="Why the last attempt failed.", examples=["SMTPConnectError 421"]
    )
    created_at: datetime
    lease_until: datetime | None = Field(
        description="While it runs: the end of the lease, after which another process takes the job over."
    )
    dead_at: datetime | None = Field(description="When its attempts were exhausted.")


class JobsPage(Page[JobOut]):
    """Background jobs, earliest due first."""

    @classmethod
    def of(cls, found: list[jobs.JobView], total: int, query: JobsQuery) -> "JobsPage":
        return cls(
            items=[JobOut(**asdict(job)) for job in found],
            pagination=Pagination.of(total=total, limit=query.limit, offset=query.offset),
        )


@router.get("", responses=problems(Unauthorized, Invalid))
async def list_jobs(_: Administrator, query: Annotated[JobsQuery, Query()], db: Db) -> JobsPage:
    """Background jobs that wait, run or are dead."""
    criteria = jobs.JobFilter(**query.model_dump())
    found, total = await db.read(lambda tx: jobs.list_jobs(tx, criteria))
    return JobsPage.of(found, total, query)


@router.post(
    "/{job_id}/retry",
    status_code=204,
    responses=problems(Unauthorized, jobs.JobUnknown, jobs.JobRunning, Invalid),
)
async def retry_job(job_id: JobId, administrator: Administrator, db: Db) -> None:
    """Run a job now, with a new series of attempts."""
    await db.transaction(lambda tx: jobs.retry_job(tx, job_id, administrator))


@router.delete(
    "/{job_id}",
    status_code=204,
    responses=problems(
        Unauthorized, jobs.JobUnknown, jobs.JobRunning, jobs.JobScheduled, jobs.JobKept, Invalid
    ),
)
async def drop_job(job_id: JobId, administrator: Administrator, db: Db) -> None:
    """Delete a job and its content; jobs of most kinds cannot be deleted."""
    await db.transaction(
        lambda tx: jobs.drop_job(tx, job_id, administrator, droppable=ASSEMBLY.droppable_jobs)
    )
