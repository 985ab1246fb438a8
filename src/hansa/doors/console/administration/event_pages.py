"""Emission policies of events, and baselines of projections, for administrators of the platform."""

from typing import Annotated

from fastapi import Depends, Path, Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import AtOneMoment, SentForm, SignedIn, act_once, see_other
from hansa.foundation.plumbing.database import Database, Tx
from hansa.foundation.plumbing.runtime import Config, Db
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.values.errors import Refused
from hansa.rooms import journal

from .pages import Done, PlatformAct, PlatformAdministrator, administration_page, administration_router

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

    async def changed(tx: Tx) -> Done:
        await journal.change_policy(tx, event_type, change, sender.person.developer)
        return Done()

    try:
        await act_once(request, sender, Done, changed)
    except Refused as refusal:
        refused = form.refused(refusal)
        return await _page(request, sender.person, db, refused, settings=settings, code=refusal.status)
    return see_other("/administration/events?done=changed")


@router.post("/administration/snapshot")
async def write_snapshot(
    sender: PlatformAct, request: Request, db: Db, settings: Config, readings: Readings
) -> Response:
    """Write the balances of all accounts at one moment into the event log as the baseline of projections."""

    async def written(tx: Tx) -> Done:
        await journal.write_baseline(
            tx,
            readings,
            frame=settings.trust_domain,
            currency=settings.settlement_currency,
            administrator=sender.person.developer,
        )
        return Done()

    try:
        if not settings.enable_projection_snapshots:
            raise journal.SnapshotsDisabled
        await act_once(request, sender, Done, written, database=AtOneMoment(db))
    except Refused as refusal:
        refused = sender.form.refused(refusal)
        return await _page(request, sender.person, db, refused, settings=settings, code=refusal.status)
    return see_other("/administration/events?done=snapshot")


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
