"""Emission policies of events, and baselines of projections, for administrators of the platform."""

from typing import Annotated

from fastapi import Depends, Path, Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import AtOneMoment, SentForm, SignedIn
from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.rooms import journal

from .pages import (
    PlatformAct,
    PlatformAdministrator,
    RefusedPage,
    administration_page,
    administration_router,
    carry_out,
)

router = administration_router()

EventType = Annotated[str, Path(pattern=r"^[A-Z][A-Za-z0-9]{1,79}$")]
Readings = Annotated[journal.LedgerReadings, Depends(journal.LEDGER_READINGS.given)]
DECISIONS = {"yes": True, "no": False, "unset": None}


@router.get("/administration/events")
async def list_policies(
    person: PlatformAdministrator, request: Request, db: Db, settings: Config
) -> HTMLResponse:
    """The emission policy of each event type."""
    return await _page(request, person, db, SentForm(), settings=settings)


@router.post("/administration/events/{event_type}")
async def change_policy(
    event_type: EventType, sender: PlatformAct, request: Request, db: Db, settings: Config
) -> Response:
    """Change which events of a type are recorded or folded."""
    form = sender.form
    change = {
        **{name: DECISIONS.get(form.value(name)) for name in ("emit_from_teg", "emit_from_registry")},
        "skip_in_projection": form.value("skip_in_projection") == "true",
    }

    return await carry_out(
        request,
        sender,
        lambda tx: journal.change_policy(tx, event_type, change, sender.person.developer),
        done="/administration/events?done=changed",
        refused=_refused(request, sender.person, db, settings),
    )


@router.post("/administration/snapshot")
async def write_snapshot(
    sender: PlatformAct, request: Request, db: Db, settings: Config, readings: Readings
) -> Response:
    """Write the balances of all accounts at one moment into the event log as the baseline of projections."""

    async def written(tx: Tx) -> None:
        if not settings.enable_projection_snapshots:
            raise journal.SnapshotsDisabled
        await journal.write_baseline(
            tx,
            readings,
            frame=settings.ledger_id,
            currency=settings.settlement_currency,
            administrator=sender.person.developer,
        )

    return await carry_out(
        request,
        sender,
        written,
        done="/administration/events?done=snapshot",
        refused=_refused(request, sender.person, db, settings),
        database=AtOneMoment(db),
    )


def _refused(request: Request, person: SignedIn, db: Database, settings: Settings) -> RefusedPage:
    return lambda form, status: _page(request, person, db, form, settings=settings, code=status)


async def _page(
    request: Request,
    person: SignedIn,
    db: Database,
    form: SentForm,
    *,
    settings: Settings,
    code: int = 200,
) -> HTMLResponse:
    policies, fail_closed = await db.read(journal.list_policies)
    return administration_page(
        request,
        "events.html",
        person,
        form,
        status=code,
        section="/administration/events",
        policies=policies,
        fail_closed=fail_closed,
        has_snapshots=settings.enable_projection_snapshots,
    )
