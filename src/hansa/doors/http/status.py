"""State of the process, and the public statements of the registry on itself.

Here also: background jobs over HTTP, for administrators of the platform.
"""

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Path, Query
from fastapi.responses import Response
from msgspec.structs import asdict
from prometheus_client import CONTENT_TYPE_LATEST
from pydantic import Field

import hansa
from hansa.doors.assembly import ASSEMBLY
from hansa.doors.shared_metrics import current_metrics
from hansa.foundation.plumbing import jobs, parameters
from hansa.foundation.plumbing.process.runtime import Config, Db, Jobs
from hansa.foundation.plumbing.process.write_probe import Probe
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.web.bodies import GuardedRoute
from hansa.foundation.plumbing.web.caller import (
    CREDENTIAL_OPTIONAL,
    Developer,
    MaybeObserver,
    Observer,
    Public,
    admin_holding,
)
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import Invalid, TooManyRequests, Unauthorized, Unavailable
from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.paging import Page, Pagination
from hansa.rooms import auditor

root_router = APIRouter(tags=["status"], route_class=GuardedRoute)
api_router = APIRouter(tags=["public"], route_class=GuardedRoute, dependencies=[Depends(within_read_limit)])
BIGINT_MAX = 2**63 - 1
jobs_router = APIRouter(prefix="/admin/jobs", tags=["administrators"], route_class=GuardedRoute)
Administrator = Annotated[Developer, admin_holding("admin_platform")]
JobId = Annotated[int, Path(ge=1, le=BIGINT_MAX)]


class CardSignatures(LazyModel):
    """How signatures of incoming cards are treated (JWS_VERIFY_ENABLED, JWS_ENFORCE, JWS_REQUIRE_SIGNATURE)."""

    verify_enabled: bool
    enforce: bool
    require_signature: bool


class Health(LazyModel):
    """The process is running."""

    status: str
    version: str
    registry_name: str
    card_signatures: CardSignatures


class AttestationHealth(LazyModel):
    """The newest supply attestation. `unwatched`: it is older than 10 minutes, or there is none."""

    status: Literal["watched", "unwatched"]
    head_id: int | None
    head_ts: datetime | None

    @classmethod
    def of(cls, watch: auditor.Watch) -> "AttestationHealth":
        """The state of the chain."""
        head = watch.head
        return cls(
            status="watched" if watch.is_watched else "unwatched",
            head_id=head and head.id,
            head_ts=head and head.ts,
        )


class DatabaseHealth(Health):
    """The process is running and its database answers."""

    attestations: AttestationHealth


class JobFailure(LazyModel):
    """A background job whose last attempt failed."""

    name: str
    since: datetime
    failures: int
    error: str = Field(examples=["TimeoutError: the database did not answer"])


class Readiness(Health):
    """The process is running."""

    failing_jobs: list[JobFailure] | None = Field(
        default=None,
        description="Background jobs whose last attempt failed. Only callers that may read `/metrics` receive it.",
    )


class RegistryConfig(LazyModel):
    """Settings that a client needs before it registers."""

    registry_name: str
    trust_domain: str
    did_method: str
    settlement_currency: str
    genesis_grant_enabled: bool
    genesis_grant_amount: str
    staking_enabled: bool
    staking_rewards_enabled: bool
    beta_invite_required: bool
    email_verification_required: bool
    tos_version: str
    documents_version: str


@root_router.get("/health", responses=problems(Unavailable))
async def read_health(_: Public, db: Db, settings: Config) -> DatabaseHealth:
    """200 while the process can serve and its database answers. Shows whether the supply is attested."""
    watch = await db.read(lambda tx: auditor.read_watch(tx, settings.ledger_id))
    return DatabaseHealth(**_health(settings).model_dump(), attestations=AttestationHealth.of(watch))


@root_router.get(
    "/readyz",
    openapi_extra=CREDENTIAL_OPTIONAL,
    responses=problems(Unavailable),
    response_model_exclude_none=True,
)
async def read_readiness(
    is_observer: MaybeObserver, write_probe: Probe, settings: Config, jobs: Jobs
) -> Readiness:
    """200 while the process can serve and its database can write.

    A caller that may read `/metrics` sees the failing background jobs of this process; they do not affect requests, so the
    status stays 200.
    """
    await write_probe.require()
    failing = [JobFailure.model_validate(job, from_attributes=True) for job in jobs.failing()]
    return Readiness(**_health(settings).model_dump(), failing_jobs=failing if is_observer else None)


@root_router.get("/livez")
async def read_liveness(_: Public, settings: Config) -> Health:
    """200 while the process responds."""
    return _health(settings)


@root_router.get(
    "/metrics",
    response_class=Response,
    responses={
        200: {"content": {"text/plain": {"schema": {"type": "string"}}}},
        **problems(Unauthorized),
    },
)
async def read_metrics(_: Observer) -> Response:
    """Metrics as Prometheus text, summed over all serving processes.

    For the machine of the registry itself, or with METRICS_TOKEN as the bearer token.
    """
    return Response(current_metrics(), media_type=CONTENT_TYPE_LATEST)


@api_router.get("/public/registry-config", responses=problems(TooManyRequests))
async def read_registry_config(_: Public, settings: parameters.InForce) -> RegistryConfig:
    """The registry's public settings."""
    return RegistryConfig.model_validate(settings, from_attributes=True)


def _health(settings: Settings) -> Health:
    signatures = CardSignatures(
        verify_enabled=settings.jws_verify_enabled,
        enforce=settings.jws_enforce,
        require_signature=settings.jws_require_signature,
    )
    return Health(
        status="ok",
        version=hansa.__version__,
        registry_name=settings.registry_name,
        card_signatures=signatures,
    )


class JobsQuery(LazyModel):
    """Filter of background jobs."""

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


@jobs_router.get("", responses=problems(Unauthorized, Invalid))
async def list_jobs(_: Administrator, query: Annotated[JobsQuery, Query()], db: Db) -> JobsPage:
    """Background jobs that wait, run or are dead."""
    criteria = jobs.JobFilter(**query.model_dump())
    found, total = await db.read(lambda tx: jobs.list_jobs(tx, criteria))
    return JobsPage.of(found, total, query)


@jobs_router.post(
    "/{job_id}/retry",
    status_code=204,
    responses=problems(Unauthorized, jobs.JobUnknown, jobs.JobRunning, Invalid),
)
async def retry_job(job_id: JobId, administrator: Administrator, db: Db) -> None:
    """Run a job now, with a new series of attempts."""
    await db.transaction(lambda tx: jobs.retry_job(tx, job_id, administrator))


@jobs_router.delete(
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
