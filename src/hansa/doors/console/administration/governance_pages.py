"""Decisions of administrators of the platform on proposals and on settings that votes have changed. Each is public, with its reason."""

from collections.abc import Sequence
from typing import Annotated, Literal

from fastapi import Path, Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import SentForm, SignedIn
from hansa.foundation.plumbing import parameters
from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.foundation.plumbing.storage.joined_reads import read_together
from hansa.rooms import governance

from .pages import PlatformAct, PlatformAdministrator, administration_page, administration_router, carry_out

router = administration_router()

PAGE = "/administration/governance"
NAME_MAX_CHARACTERS = 64
ProposalId = Annotated[int, Path(ge=1, le=2**63 - 1)]
Name = Annotated[str, Path(max_length=NAME_MAX_CHARACTERS)]


@router.get(PAGE)
async def show_undecided(
    person: PlatformAdministrator, request: Request, db: Db, settings: Config
) -> HTMLResponse:
    """The proposals that may be decided on, and the settings that votes have changed."""
    return await _list_page(request, person, db, settings)


@router.get(f"{PAGE}/{{proposal_id:int}}")
async def show_proposal(
    proposal_id: ProposalId, person: PlatformAdministrator, request: Request, db: Db, settings: Config
) -> HTMLResponse:
    """One proposal with the decisions that it allows. Raises: ProposalUnknown."""
    return await _page(request, person, db, proposal_id, settings=settings)


@router.post(f"{PAGE}/{{proposal_id:int}}/{{act}}")
async def decide(
    proposal_id: ProposalId,
    act: Literal["apply", "decline", "veto"],
    sender: PlatformAct,
    request: Request,
    db: Db,
    *,
    settings: Config,
) -> Response:
    """Apply, decline or veto."""

    async def decided(tx: Tx) -> None:
        reason = sender.form.read_as(governance.GovernanceReasonIn).reason
        developer = sender.person.developer
        match act:
            case "apply":
                await governance.apply(tx, developer, proposal_id, reason, settings)
            case "decline":
                await governance.decline(tx, developer, proposal_id, reason)
            case "veto":
                await governance.veto(tx, developer, proposal_id, reason)

    return await carry_out(
        request,
        sender,
        decided,
        done=f"{PAGE}/{proposal_id}?done={act}",
        refused=lambda form, status: _page(
            request, sender.person, db, proposal_id, settings=settings, form=form, status=status
        ),
    )


@router.post(f"{PAGE}/parameters/{{name}}/reset")
async def reset_parameter(
    name: Name, sender: PlatformAct, request: Request, db: Db, *, settings: Config
) -> Response:
    """Give a setting back to the environment, a minute from now."""

    async def done(tx: Tx) -> None:
        reason = sender.form.read_as(governance.GovernanceReasonIn).reason
        await governance.reset(tx, sender.person.developer, name, reason, settings)

    return await carry_out(
        request,
        sender,
        done,
        done=f"{PAGE}?done=reset",
        refused=lambda form, status: _list_page(request, sender.person, db, settings, form, status=status),
    )


async def _list_page(
    request: Request,
    person: SignedIn,
    db: Database,
    settings: Settings,
    form: SentForm | None = None,
    *,
    status: int = 200,
) -> HTMLResponse:
    found, known = await db.read(
        lambda tx: read_together(tx, governance.read_undecided, lambda tx: parameters.current(tx, settings))
    )
    governed: Sequence[parameters.Parameter] = [one for one in known if one.source == "governance"]
    return administration_page(
        request,
        "governance.html",
        person,
        form,
        status=status,
        section=PAGE,
        proposals=found,
        governed=governed,
    )


async def _page(
    request: Request,
    person: SignedIn,
    db: Database,
    proposal_id: int,
    *,
    settings: Settings,
    form: SentForm | None = None,
    status: int = 200,
) -> HTMLResponse:
    proposal = await db.read(lambda tx: governance.read_proposal(tx, proposal_id))
    return administration_page(
        request,
        "proposal.html",
        person,
        form,
        status=status,
        section=PAGE,
        proposal=proposal,
        delay_hours=settings.governance_delay_hours,
        currency=settings.settlement_currency,
    )
