"""The administration at a glance: the alerts first, then the number of everything."""

import asyncio
import shutil
from collections.abc import Sequence
from datetime import timedelta
from typing import Literal

import msgspec
from fastapi import Request
from fastapi.responses import HTMLResponse

from hansa.doors.console.access import AnyAdministrator, SignedIn
from hansa.doors.console.navigation import ENFORCEMENT, PLATFORM, TREASURY
from hansa.doors.console.supply_page import DAYS_SHOWN, POINTS_SHOWN, plots_over_time
from hansa.doors.diagnosis.checks import DISK_PROBLEM_BYTES, DISK_WARNING_BYTES, QUEUE_WARNING_SECONDS
from hansa.doors.diagnosis.facts import Queue, read_queues
from hansa.foundation.plumbing import jobs
from hansa.foundation.plumbing.process.runtime import Config, Db, Jobs
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.rooms import auditor, commerce, journal

from .pages import administration_page, administration_router

router = administration_router()

STALE_AUDIT = timedelta(minutes=5)
GIB = 1 << 30
ONE = 1


class Alert(msgspec.Struct, frozen=True):
    """Matter that needs attention, and the page on which to act; `area` is the area of that page."""

    severity: Literal["problem", "warning"]
    subject: str
    detail: str
    page: str | None = None
    area: str | None = None


@router.get("/administration")
async def show_overview(
    person: AnyAdministrator, request: Request, db: Db, settings: Config, jobs_here: Jobs
) -> HTMLResponse:
    """The alerts, problems first, and the queues."""
    watch = await auditor.watch_supply(db)

    async def course(tx: Tx) -> tuple[Sequence[auditor.SupplyPoint], Sequence[journal.DayVolume]]:
        return (
            await auditor.supply_over_time(tx, POINTS_SHOWN),
            await journal.volume_by_day(tx, DAYS_SHOWN),
        )

    queues, (history, volume) = await db.read(read_queues), await db.read(course)
    alerts = [
        *await _of_audit(db, watch, settings),
        *await _of_disk(settings),
        *[
            Alert(
                "warning", "Job", f"“{job.name}” fails in this process since {job.since:%Y-%m-%d %H:%M} UTC."
            )
            for job in jobs_here.failing()
        ],
        *await _of_jobs(db),
        *await _of_disputes(db),
        *await _of_awards(db),
        *_of_queues(queues),
    ]
    alerts.sort(key=lambda alert: alert.severity != "problem")
    shown = [_linked(alert, person) for alert in alerts]
    return administration_page(
        request,
        "overview.html",
        person,
        alerts=shown,
        queues=queues,
        watch=watch,
        newest_day=volume[-1] if volume else None,
        plots=plots_over_time(history, volume, settings.settlement_currency),
        currency=settings.settlement_currency,
    )


def _linked(alert: Alert, person: SignedIn) -> Alert:
    """The alert without a link to a page that this person may not open."""
    if alert.area is None or alert.area in person.areas:
        return alert
    return Alert(alert.severity, alert.subject, alert.detail)


async def _of_audit(db: Database, watch: auditor.SupplyWatch, settings: Settings) -> list[Alert]:
    found = []
    if not watch.is_ok:
        detail = f"The supply invariant is {watch.status}. Stop all transfers, and compare the event log with the balances."
        found.append(Alert("problem", "Audit mismatch", detail, "/supply"))
    chain = await db.read(lambda tx: auditor.read_watch(tx, settings.ledger_id))
    head = chain.head
    if head is None or watch.checked_at - head.ts > STALE_AUDIT:
        since = (
            "there is no record" if head is None else f"the last record is of {head.ts:%Y-%m-%d %H:%M} UTC"
        )
        found.append(Alert("problem", "Stale audit", f"The audit runs every minute, but {since}.", "/supply"))
    return found


async def _of_disk(settings: Settings) -> list[Alert]:
    free = (await asyncio.to_thread(shutil.disk_usage, settings.data_dir)).free
    if free >= DISK_WARNING_BYTES:
        return []
    severity: Literal["problem", "warning"] = "problem" if free < DISK_PROBLEM_BYTES else "warning"
    return [Alert(severity, "Disk", f"{free / GIB:.1f} GiB are free in the data directory.")]


async def _of_jobs(db: Database) -> list[Alert]:
    query = jobs.JobFilter(None, "dead", ONE, 0)
    _, dead = await db.read(lambda tx: jobs.list_jobs(tx, query))
    detail = f"{dead} jobs have no attempts left."
    return (
        [Alert("warning", "Failed jobs", detail, "/administration/jobs?state=dead", PLATFORM)] if dead else []
    )


async def _of_disputes(db: Database) -> list[Alert]:
    async def waiting(tx: Tx) -> int:
        return (await commerce.list_disputes(tx, commerce.DisputeFilter(None, None, None, "VOTING", ONE, 0)))[
            1
        ]

    count = await db.read(waiting)
    detail = f"{count} disputes wait for a ruling."
    page = "/administration/disputes?status=VOTING"
    return [Alert("warning", "Disputes", detail, page, ENFORCEMENT)] if count else []


async def _of_awards(db: Database) -> list[Alert]:
    wanted = commerce.AwardFilter(commerce.AwardStatus.PENDING, ONE, 0)
    _, count = await db.read(lambda tx: commerce.list_awards(tx, wanted))
    detail = f"{count} awards of rulings wait for a second administrator."
    return [Alert("warning", "Awards", detail, "/administration/awards", TREASURY)] if count else []


def _of_queues(queues: Sequence[Queue]) -> list[Alert]:
    return [
        Alert(
            "warning",
            "Queue",
            f"{queue.name}: {queue.waiting} waiting, the oldest for {queue.oldest_seconds or 0:.0f} s,"
            f" {queue.failures} failures, {queue.given_up} set aside.",
            _page_of(queue),
            PLATFORM,
        )
        for queue in queues
        if queue.given_up or queue.failures or (queue.oldest_seconds or 0) > QUEUE_WARNING_SECONDS
    ]


def _page_of(queue: Queue) -> str:
    if queue.name.startswith("reactor "):
        return "/administration/reactors"
    return "/administration/mail" if queue.name == "mail" else "/administration/jobs"
