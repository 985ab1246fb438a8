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
from hansa.doors.console.navigation import ENFORCEMENT, PLATFORM, SUPPORT, TREASURY
from hansa.doors.console.supply_page import DAYS_SHOWN, POINTS_SHOWN, plots_over_time
from hansa.doors.diagnosis.checks import DISK_PROBLEM_BYTES, DISK_WARNING_BYTES, QUEUE_WARNING_SECONDS
from hansa.doors.diagnosis.facts import Queue, read_queues
from hansa.foundation.plumbing import jobs
from hansa.foundation.plumbing.process.runtime import Config, Db, Jobs
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.joined_reads import read_together
from hansa.rooms import auditor, commerce, journal, support

from .pages import administration_page, administration_router

router = administration_router()

STALE_AUDIT = timedelta(minutes=5)
GIB = 1 << 30


class Alert(msgspec.Struct, frozen=True):
    """Matter that needs attention, and the page on which to act; `area` is the area of that page."""

    severity: Literal["problem", "warning"]
    subject: str
    detail: str
    page: str | None = None
    area: str | None = None


class _Reading(msgspec.Struct, frozen=True):
    """One reading of the rooms for the overview."""

    queues: Sequence[Queue]
    history: Sequence[auditor.SupplyPoint]
    volume: Sequence[journal.DayVolume]
    chain: auditor.Watch
    dead_jobs: int
    decisions: commerce.OpenDecisions
    support: Sequence[support.Waiting]


@router.get("/administration")
async def show_overview(
    person: AnyAdministrator, request: Request, db: Db, settings: Config, jobs_here: Jobs
) -> HTMLResponse:
    """The alerts, problems first, and the queues."""
    watch = await auditor.watch_supply(db)

    async def reading(tx: Tx) -> _Reading:
        return _Reading(
            *await read_together(
                tx,
                read_queues,
                lambda tx: auditor.supply_over_time(tx, POINTS_SHOWN),
                lambda tx: journal.volume_by_day(tx, DAYS_SHOWN),
                lambda tx: auditor.read_watch(tx, settings.ledger_id),
                jobs.count_dead_jobs,
                commerce.count_open_decisions,
                support.count_waiting,
            )
        )

    found = await db.read(reading)
    alerts = [
        *_of_audit(watch, found.chain),
        *await _of_disk(settings),
        *[
            Alert(
                "warning", "Job", f"“{job.name}” fails in this process since {job.since:%Y-%m-%d %H:%M} UTC."
            )
            for job in jobs_here.failing()
        ],
        *_of_jobs(found.dead_jobs),
        *_of_disputes(found.decisions.voting),
        *_of_awards(found.decisions.awards),
        *_of_support(found.support),
        *_of_queues(found.queues),
    ]
    alerts.sort(key=lambda alert: alert.severity != "problem")
    shown = [_linked(alert, person) for alert in alerts]
    return administration_page(
        request,
        "overview.html",
        person,
        alerts=shown,
        queues=found.queues,
        watch=watch,
        newest_day=found.volume[-1] if found.volume else None,
        plots=plots_over_time(found.history, found.volume, settings.settlement_currency),
        currency=settings.settlement_currency,
    )


def _linked(alert: Alert, person: SignedIn) -> Alert:
    """The alert without a link to a page that this person may not open."""
    if alert.area is None or alert.area in person.areas:
        return alert
    return Alert(alert.severity, alert.subject, alert.detail)


def _of_audit(watch: auditor.SupplyWatch, chain: auditor.Watch) -> list[Alert]:
    found = []
    if not watch.is_ok:
        detail = f"The supply invariant is {watch.status}. Stop all transfers, and compare the event log with the balances."
        found.append(Alert("problem", "Audit mismatch", detail, "/supply"))
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


def _of_jobs(dead: int) -> list[Alert]:
    detail = f"{dead} jobs have no attempts left."
    return (
        [Alert("warning", "Failed jobs", detail, "/administration/jobs?state=dead", PLATFORM)] if dead else []
    )


def _of_disputes(count: int) -> list[Alert]:
    detail = f"{count} disputes wait for a ruling."
    page = "/administration/disputes?status=VOTING"
    return [Alert("warning", "Disputes", detail, page, ENFORCEMENT)] if count else []


def _of_awards(count: int) -> list[Alert]:
    detail = f"{count} awards of rulings wait for a second administrator."
    return [Alert("warning", "Awards", detail, "/administration/awards", TREASURY)] if count else []


def _of_support(waiting: Sequence[support.Waiting]) -> list[Alert]:
    """One alert for tickets, and one for reports about agents."""
    subjects = {"ticket": ("Tickets", ""), "report": ("Reports", "&category=abuse")}
    return [
        Alert(
            "warning",
            subject,
            f"{one.number} {one.kind}{'s' if one.number > 1 else ''} open, the oldest for {_age(one.oldest_seconds)}.",
            f"/administration/support?status=open{filters}",
            SUPPORT,
        )
        for one in waiting
        if one.number
        for subject, filters in [subjects[one.kind]]
    ]


def _age(seconds: float) -> str:
    """Days and hours."""
    days, hours = divmod(int(seconds) // 3600, 24)
    return f"{days} d {hours} h" if days else f"{hours} h"


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
