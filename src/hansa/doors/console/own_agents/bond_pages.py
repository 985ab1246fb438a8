"""The bond of an own agent: its state, the obstacles to its release, deposit and release."""

from typing import Literal

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import Act, SentForm, SignedIn, SignedInPerson, see_other
from hansa.doors.console.access.forms import with_decimal_point
from hansa.foundation.plumbing import parameters
from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Database
from hansa.foundation.plumbing.storage.joined_reads import read_together, reading
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.rooms import agents, reputation

from .acting import act_as
from .pages import ACTS, READS, MyDid, address_of, agent_page, own_agent

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse, route_class=LazyRoute)


@router.get("/account/agents/{did}/wallet/bond", dependencies=READS)
async def show_bond(
    did: MyDid, person: SignedInPerson, request: Request, db: Db, settings: Config
) -> HTMLResponse:
    """The bond of an own agent."""
    agent = await own_agent(db, person, did)
    return await _page(request, person, agent, SentForm(), db, settings=settings)


@router.post("/account/agents/{did}/wallet/bond/{act}", dependencies=ACTS)
async def change_bond(
    did: MyDid,
    act: Literal["deposit", "release", "unlock"],
    sender: Act,
    request: Request,
    db: Db,
    *,
    settings: Config,
) -> Response:
    """Deposit units, begin the release, or get the units back."""
    agent = await own_agent(db, sender.person, did)
    body = {"amount": with_decimal_point(sender.form.value("amount").strip())} if act == "deposit" else None
    answer = await act_as(request, sender, did, f"/agents/{did}/reputation-bond/{act}", body)
    if answer.is_refused:
        refused = answer.on(sender.form)
        return await _page(
            request, sender.person, agent, refused, db, settings=settings, status=answer.status
        )
    return see_other(address_of(did, "wallet/bond", act))


async def _page(
    request: Request,
    person: SignedIn,
    agent: agents.OwnedAgent,
    form: SentForm,
    db: Database,
    *,
    settings: Settings,
    status: int = 200,
) -> HTMLResponse:
    in_force, bond = await db.read(
        lambda tx: read_together(
            tx, reading(parameters.in_force, settings), reading(reputation.read_bond, agent.did)
        )
    )
    policy = reputation.BondPolicy.of(in_force)
    return agent_page(
        request,
        "wallet/bond.html",
        person,
        agent,
        form,
        status=status,
        bond=reputation.BondOut.of(bond, policy),
        policy=policy,
        currency=settings.settlement_currency,
    )
