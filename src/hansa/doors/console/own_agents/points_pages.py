"""Points of an own agent that move without a payment: to another agent of its owner, or back to the listing, which gives them up for good."""

from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import Act, Acting, SentForm, SignedIn, SignedInPerson, see_other
from hansa.doors.console.access.errors import FormRefused
from hansa.doors.console.access.forms import whole_number
from hansa.foundation.plumbing.process.runtime import Db
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.foundation.plumbing.storage.joined_reads import read_together
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.rooms import agents, exchange

from .acting import act_as
from .market_pages import AGENTS_OFFERED, PAGE
from .pages import ACTS, READS, MyDid, address_of, agent_page, own_agent

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse, route_class=LazyRoute)

TRANSFER = "/agora/points/transfer"
REF_TYPED = "The reference of the listing confirms this act; another one was typed."


@router.get(f"{PAGE}/{{ref}}/points", dependencies=READS)
async def show_points(
    did: MyDid, ref: exchange.RefInPath, person: SignedInPerson, request: Request, db: Db
) -> HTMLResponse:
    """The points of an own agent at a listing, with the forms that move them. Raises: ListingUnknown."""
    return await _page(request, person, db, did, ref)


@router.post(f"{PAGE}/{{ref}}/transfer", dependencies=ACTS)
async def transfer_points(
    did: MyDid, ref: exchange.RefInPath, sender: Act, request: Request, db: Db
) -> Response:
    """Transfer points to another agent of the same owner."""
    agent = await own_agent(db, sender.person, did)
    form = sender.form
    body = {"to": form.value("to").strip() or "-", "ref": ref, "qty": whole_number(form.value("points"))}
    return await _moved(request, sender, db, agent, body, field="points", done="transferred")


@router.post(f"{PAGE}/{{ref}}/give-up", dependencies=ACTS)
async def give_up_points(
    did: MyDid, ref: exchange.RefInPath, sender: Act, request: Request, db: Db
) -> Response:
    """Give points up for good, which the typed reference of the listing confirms."""
    agent = await own_agent(db, sender.person, did)
    form = sender.form
    if form.value("typed_name").strip() != ref:
        refusal = FormRefused({"typed_name": REF_TYPED})
        refused = form.refused(refusal)
        return await _page(request, sender.person, db, did, ref, form=refused, status=refusal.status)
    body = {"to": None, "ref": ref, "qty": whole_number(form.value("given_up"))}
    return await _moved(request, sender, db, agent, body, field="given_up", done="given-up")


async def _moved(
    request: Request,
    sender: Acting,
    db: Database,
    agent: agents.OwnedAgent,
    body: dict[str, Any],
    *,
    field: str,
    done: str,
) -> Response:
    """Move the points as the agent, and lead back to the page or show the refusal beside its field."""
    ref = str(body["ref"])
    answer = await act_as(request, sender, agent.did, TRANSFER, body)
    if not answer.is_refused:
        return see_other(address_of(agent.did, f"market/{ref}/points", done))
    refused = answer.on(sender.form, qty=field)
    if answer.code == "INSUFFICIENT_POINTS":
        refused = SentForm(refused.fields, {field: refused.message or ""}, refused.message)
    return await _page(request, sender.person, db, agent.did, ref, form=refused, status=answer.status)


async def _page(
    request: Request,
    person: SignedIn,
    db: Database,
    did: str,
    ref: str,
    *,
    form: SentForm | None = None,
    status: int = 200,
) -> HTMLResponse:
    async def holding(tx: Tx) -> exchange.Held | None:
        portfolio = await exchange.portfolio_of(tx, did)
        return next((one for one in portfolio.holdings if one.ref == ref), None)

    agent, shown, held, owned = await db.read(
        lambda tx: read_together(
            tx,
            lambda tx: agents.own_agent(tx, person.developer.id, did),
            lambda tx: exchange.read_listing(tx, None, ref),
            holding,
            lambda tx: agents.oldest_of_developer(tx, person.developer.id, AGENTS_OFFERED),
        )
    )
    siblings: Sequence[agents.OwnedAgent] = owned[0]
    if (organization := agent.organization_id) is not None:
        siblings = await db.read(lambda tx: agents.of_organization(tx, organization, limit=AGENTS_OFFERED))
    return agent_page(
        request,
        "own_agents/points.html",
        person,
        agent,
        form,
        status=status,
        shown=shown,
        held=held,
        receivers=[(one.did, one.name) for one in siblings if one.status == "active" and one.did != did],
    )
