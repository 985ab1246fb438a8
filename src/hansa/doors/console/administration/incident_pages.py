"""Incidents, maintenances and the showcase, for administrators of the platform."""

from collections.abc import Sequence
from uuid import UUID

from fastapi import Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import FormRefused, SentForm, SignedIn
from hansa.doors.console.access.forms import moment_in_utc
from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.rooms import catalogue
from hansa.rooms import status as incidents

from .pages import FormsPage, PlatformAct, PlatformAdministrator, administration_page, administration_router

router = administration_router()

PAGE = "/administration/incidents"
SHOWCASE = "/administration/showcase"


@router.get(PAGE)
async def show_incidents(
    person: PlatformAdministrator, request: Request, db: Db, settings: Config
) -> HTMLResponse:
    """Open incidents and maintenances, each with the form of its next update, and the form that opens one."""
    return await _page(request, person, db, SentForm(), settings=settings)


@router.post(PAGE)
async def open_incident(sender: PlatformAct, request: Request, db: Db, settings: Config) -> Response:
    """Open an incident, or announce a maintenance."""

    async def opened(tx: Tx) -> None:
        form = sender.form
        moments = {
            name: moment_in_utc(form.value(name)) for name in ("starts_at", "ends_at") if form.value(name)
        }
        body = form.read_as(incidents.IncidentIn, components=form.values("components"), **moments)
        await incidents.open_incident(tx, sender.person.developer, body.incident())

    return await FORMS.carry_out(request, sender, db, settings, opened, done="opened")


@router.post(f"{PAGE}/{{incident_id:uuid}}")
async def update_incident(
    incident_id: UUID, sender: PlatformAct, request: Request, db: Db, settings: Config
) -> Response:
    """State how far an incident or maintenance is."""

    async def updated(tx: Tx) -> None:
        body = sender.form.read_as(incidents.IncidentUpdateIn)
        await incidents.update_incident(
            tx, sender.person.developer, incident_id, state=body.state, body=body.text
        )

    return await FORMS.carry_out(request, sender, db, settings, updated, done="updated")


@router.get(SHOWCASE)
async def show_pins(
    person: PlatformAdministrator, request: Request, db: Db, settings: Config
) -> HTMLResponse:
    """The pinned agents of the showcase."""
    return await _pins_page(request, person, db, SentForm(), settings=settings)


@router.post(SHOWCASE)
async def pin_agents(sender: PlatformAct, request: Request, db: Db, settings: Config) -> Response:
    """Replace the pinned agents of the showcase."""

    async def pinned(tx: Tx) -> None:
        body = sender.form.read_as(catalogue.PinsIn, pinned=_pins_in(sender.form))
        await catalogue.pin_agents(tx, sender.person.developer, body.pins())

    return await PIN_FORMS.carry_out(request, sender, db, settings, pinned, done="pinned")


def _pins_in(form: SentForm) -> Sequence[dict[str, str]]:
    """Pins of a text: on each line a DID and, after a space, its note. Raises: FormRefused."""
    lines = [line.strip().partition(" ") for line in form.value("pinned").splitlines() if line.strip()]
    if any(not did.startswith("did:") for did, _, _ in lines):
        raise FormRefused({"pinned": "Each line begins with the DID of an agent."})
    return [{"did": did, "note": note} for did, _, note in lines]


async def _page(
    request: Request,
    person: SignedIn,
    db: Database,
    form: SentForm,
    *,
    settings: Settings,
    status: int = 200,
) -> HTMLResponse:
    del settings  # Taken for the sake of `FormsPage`.
    found = await db.query(incidents.read_incidents)
    return administration_page(
        request,
        "incidents.html",
        person,
        form,
        status=status,
        section=PAGE,
        incidents=[one for one in found if one.state != "resolved"],
        components=incidents.COMPONENTS,
    )


async def _pins_page(
    request: Request,
    person: SignedIn,
    db: Database,
    form: SentForm,
    *,
    settings: Settings,
    status: int = 200,
) -> HTMLResponse:
    del settings  # Taken for the sake of `FormsPage`.
    pins = await db.query(catalogue.pins)
    return administration_page(
        request,
        "showcase.html",
        person,
        form,
        status=status,
        section=SHOWCASE,
        lines="\n".join(f"{pin.did} {pin.note}".strip() for pin in pins),
        pins_max=catalogue.PINS_MAX,
    )


FORMS = FormsPage(PAGE, _page)
PIN_FORMS = FormsPage(SHOWCASE, _pins_page)
