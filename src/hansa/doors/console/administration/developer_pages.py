"""Developers for administrators of enforcement: found, with their agents, suspended and reinstated."""

from typing import Annotated, Any, Literal

from fastapi import Path, Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import FormRefused, SentForm, SignedIn, act_once
from hansa.foundation.plumbing.process.runtime import Db
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.rooms import catalogue, enforcement, people

from .pages import SHOWN, EnforcementAct, Enforcer, Offset, Words, administration_page, administration_router

router = administration_router()

DeveloperId = Annotated[int, Path(ge=1, le=2**63 - 1)]
AGENTS_SHOWN = 200


@router.get("/administration/developers")
async def find_developers(
    person: Enforcer, request: Request, db: Db, *, q: Words = "", offset: Offset = 0
) -> HTMLResponse:
    """The developers, by name, e-mail address or number."""
    found, total = await db.read(lambda tx: people.find_developers(tx, q, limit=SHOWN, offset=offset))
    return administration_page(
        request,
        "developers.html",
        person,
        developers=found,
        total=total,
        offset=offset,
        q=q,
    )


@router.get("/administration/developers/{developer_id:int}")
async def show_developer(
    developer_id: DeveloperId, person: Enforcer, request: Request, db: Db
) -> HTMLResponse:
    """A developer with the agents and their suspensions. Raises: DeveloperUnknown."""
    return await _page(request, person, developer_id, SentForm(), db)


@router.post("/administration/developers/{developer_id:int}/{act}")
async def act_on_developer(
    developer_id: DeveloperId,
    act: Literal["suspend", "reinstate"],
    sender: EnforcementAct,
    request: Request,
    db: Db,
    *,
    writes: catalogue.CardWrites,
) -> Response:
    """Suspend or reinstate a developer with every agent. Raises: DeveloperUnknown."""
    administrator = sender.person.developer
    outcome: Any
    try:
        if act == "suspend":
            reason = sender.form.read_as(enforcement.SuspendDeveloperIn).reason

            async def suspended(tx: Tx) -> enforcement.StoppedAgentsOut:
                rows = await enforcement.suspend_developer(tx, developer_id, administrator, reason=reason)
                return enforcement.StoppedAgentsOut.of(rows)

            outcome = await act_once(
                request, sender, enforcement.StoppedAgentsOut, suspended, database=writes
            )
        else:
            note = sender.form.read_as(enforcement.ReinstateDeveloperIn).reason

            async def reinstated(tx: Tx) -> enforcement.RestoredAgentsOut:
                rows = await enforcement.reinstate_developer(tx, developer_id, administrator, reason=note)
                return enforcement.RestoredAgentsOut.of(rows)

            outcome = await act_once(
                request, sender, enforcement.RestoredAgentsOut, reinstated, database=writes
            )
    except FormRefused as refusal:
        refused = sender.form.refused(refusal)
        return await _page(request, sender.person, developer_id, refused, db, status=refusal.status)
    title = f"{act.capitalize()} developer {developer_id}"
    return administration_page(request, "outcome.html", sender.person, title=title, rows=outcome.results)


async def _page(
    request: Request,
    person: SignedIn,
    developer_id: int,
    form: SentForm,
    db: Database,
    *,
    status: int = 200,
) -> HTMLResponse:
    async def reading(tx: Tx) -> tuple[people.FoundDeveloper | None, enforcement.OwnedAgents]:
        developer = await people.read_developer(tx, developer_id)
        name = None if developer is None or developer.closed_at else developer.name
        return developer, await enforcement.agents_of_named(
            tx, developer_id, name, limit=AGENTS_SHOWN, offset=0
        )

    developer, owned = await db.read(reading)
    return administration_page(
        request, "developer.html", person, form, status=status, developer=developer, owned=owned
    )
