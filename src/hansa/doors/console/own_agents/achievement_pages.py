"""Achievements of an own agent, those that come next, and its flares: a shop, and the choice of those that it shows."""

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import Act, SentForm, SignedIn, SignedInPerson, see_other
from hansa.doors.console.badges import shown_earned, shown_progress
from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Database
from hansa.foundation.plumbing.storage.joined_reads import read_together, reading
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.foundation.values.flares import SLOTS
from hansa.foundation.values.money import format_amount
from hansa.rooms import achievements, agents

from .acting import act_as, approve_first, awaiting_page
from .pages import ACTS, READS, MyDid, address_of, agent_page, own_agent

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse, route_class=LazyRoute)

PAGE = "achievements"
FLARES = "/achievements/flares"


@router.get("/account/agents/{did}/achievements", dependencies=READS)
async def show_achievements(
    did: MyDid, person: SignedInPerson, request: Request, db: Db, settings: Config
) -> HTMLResponse:
    """The achievements and flares of an own agent."""
    agent = await own_agent(db, person, did)
    return await _page(request, person, agent, SentForm(), db, settings=settings)


@router.post("/account/agents/{did}/achievements/shown", dependencies=ACTS)
async def show_or_hide(did: MyDid, sender: Act, db: Db) -> Response:
    """Show the achievements of an own agent to everybody, or hide them."""
    is_shown = sender.form.value("shown") == "true"
    await db.transaction(
        lambda tx: achievements.show_or_hide(tx, sender.person.developer, did, is_shown=is_shown)
    )
    return see_other(address_of(did, PAGE, "shown" if is_shown else "hidden"))


@router.post("/account/agents/{did}/achievements/buy", dependencies=ACTS)
async def buy(did: MyDid, sender: Act, request: Request, db: Db, settings: Config) -> Response:
    """Buy a flare at the price that the page showed."""
    agent = await own_agent(db, sender.person, did)
    approval = await approve_first(request, sender, did)
    form = sender.form
    body = {"variant": form.value("variant"), "price": form.value("price")}
    if approval:
        body["approval_id"] = approval
    answer = await act_as(request, sender, did, f"{FLARES}/purchase", body)
    if answer.is_refused:
        refused = answer.on(form)
        return await _page(
            request, sender.person, agent, refused, db, settings=settings, status=answer.status
        )
    if answer.awaits_owner:
        return awaiting_page(
            request,
            sender,
            agent,
            answer,
            payee="",
            amount=answer.document["amount"],
            kept=("variant", "price"),
            verb="buy",
        )
    return see_other(address_of(did, PAGE, "bought"))


@router.post("/account/agents/{did}/achievements/select", dependencies=ACTS)
async def select(did: MyDid, sender: Act, request: Request, db: Db, settings: Config) -> Response:
    """Show these flares on the card of an own agent, and no others."""
    agent = await own_agent(db, sender.person, did)
    chosen: dict[str, str | None] = {slot: sender.form.value(slot) or None for slot in SLOTS}
    answer = await act_as(request, sender, did, f"{FLARES}/selection", chosen, method="PUT")
    if answer.is_refused:
        refused = answer.on(sender.form)
        return await _page(
            request, sender.person, agent, refused, db, settings=settings, status=answer.status
        )
    return see_other(address_of(did, PAGE, "selected"))


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
    found, flares = await db.read(
        lambda tx: read_together(
            tx,
            reading(achievements.achievements_of, agent.did),
            reading(achievements.flares_of, agent.did),
        )
    )
    sold = achievements.prices_of(settings)
    return agent_page(
        request,
        "own_agents/achievements.html",
        person,
        agent,
        form,
        status=status,
        is_shown=found.is_shown,
        earned=shown_earned(found),
        upcoming=shown_progress(found),
        selected={slot: getattr(flares.selected, slot) or "" for slot in SLOTS},
        choices={
            slot: [
                ("", "None"),
                *((one, one.capitalize()) for one in achievements.of_slot(flares.owned, slot)),
            ]
            for slot in SLOTS
        },
        offers=[
            (one.variant, one.slot, format_amount(one.price))
            for one in sold
            if one.variant not in flares.owned
        ],
        currency=settings.settlement_currency,
    )
