"""Children of an own agent: their purses and ends, the cost of a new one before it is spawned, and the end of one."""

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import Act, SentForm, SignedIn, SignedInPerson, see_other
from hansa.doors.console.access.forms import with_decimal_point
from hansa.doors.console.account.text_file import environment_file, text_file
from hansa.doors.console.api_acts import act_as_person
from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Database
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.foundation.values.errors import Refused
from hansa.foundation.values.money import Minor, NotAnAmount, format_amount, parse_positive
from hansa.rooms import agents, spawn

from .acting import approve_first, awaiting_page
from .approved import approved_payments
from .pages import ACTS, READS, MyDid, address_of, agent_page, own_agent, path_of

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse, route_class=LazyRoute)

PAGE = "children"
SHOWN = 100
LIVES = {
    "3600": "An hour",
    "86400": "A day",
    "604800": "A week",
    "2592000": "30 days",
}
FIELDS = ("name", "description", "funding", "ttl_seconds", "per_tx_max", "per_day_max")


@router.get("/account/agents/{did}/children", dependencies=READS)
async def show_children(
    did: MyDid, person: SignedInPerson, request: Request, db: Db, settings: Config
) -> HTMLResponse:
    """The children with their purses, and the form of a new one; an approved amount in the address fills it in."""
    agent = await own_agent(db, person, did)
    form = await _approved_form(db, agent.did, request.query_params.get("approval", ""), settings)
    return await _page(request, person, agent, form, db, settings=settings)


@router.post("/account/agents/{did}/children/check", dependencies=ACTS)
async def check_child(did: MyDid, sender: Act, request: Request, db: Db, settings: Config) -> Response:
    """The cost of a child; nothing is made."""
    agent, form = await own_agent(db, sender.person, did), sender.form
    try:
        funding = parse_positive(with_decimal_point(form.value("funding").strip()))
        fee = await db.read(lambda tx: spawn.cost_of(tx, did, funding, settings))
    except NotAnAmount:
        sentence = "A decimal number above zero with at most 8 decimals is required, for example 1.5."
        wrong = SentForm(form.fields, {"funding": sentence}, sentence)
        return await _page(request, sender.person, agent, wrong, db, settings=settings, status=422)
    except Refused as refusal:
        refused = form.refused(refusal)
        return await _page(
            request, sender.person, agent, refused, db, settings=settings, status=refusal.status
        )
    return agent_page(
        request,
        "own_agents/child-confirm.html",
        sender.person,
        agent,
        form,
        funding=format_amount(funding),
        fee=format_amount(fee),
        total=format_amount(Minor(funding + fee)),
        life=LIVES.get(form.value("ttl_seconds"), "A day"),
        fields_kept=FIELDS,
        currency=settings.settlement_currency,
    )


@router.post("/account/agents/{did}/children", dependencies=ACTS)
async def spawn_child(did: MyDid, sender: Act, request: Request, db: Db, settings: Config) -> Response:
    """Spawn the child and show its credentials."""
    agent = await own_agent(db, sender.person, did)
    await approve_first(request, sender, did)
    answer = await act_as_person(request, sender, "POST", f"/agents/{did}/spawn", _body(sender.form))
    if answer.is_refused:
        refused = answer.on(sender.form)
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
            kept=FIELDS,
            verb="spawn",
        )
    made = answer.document
    variables = {
        "HANSA_REGISTRY": settings.base_url,
        "HANSA_AGENT_DID": made["agent_did"],
        "HANSA_CLIENT_ID": made["client_id"],
        "HANSA_CLIENT_SECRET": made["client_secret"],
    }
    return agent_page(
        request,
        "own_agents/child-shown.html",
        sender.person,
        agent,
        made=made,
        environment=environment_file(variables),
        private_key=text_file(made["private_key_pem"].rstrip("\n")),
    )


@router.post("/account/agents/{did}/children/end", dependencies=ACTS)
async def end_child(did: MyDid, sender: Act, request: Request, db: Db, settings: Config) -> Response:
    """End one of the children."""
    agent, child = await own_agent(db, sender.person, did), sender.form.value("child")
    answer = await act_as_person(request, sender, "POST", f"/agents/{child}/spawn/end")
    if answer.is_refused:
        refused = answer.on(sender.form)
        return await _page(
            request, sender.person, agent, refused, db, settings=settings, status=answer.status
        )
    if answer.document["state"] == "ended":
        return see_other(address_of(did, PAGE, "ended"))
    waits = SentForm([], {}, "The child is ending. " + " ".join(_reasons(answer.document)))
    return await _page(request, sender.person, agent, waits, db, settings=settings)


async def _approved_form(db: Database, did: str, approval_id: str, settings: Settings) -> SentForm:
    """The form with the amount of the approved purse that the address names."""
    if not approval_id:
        return SentForm()
    approved = await db.read(lambda tx: approved_payments(tx, did, settings))
    found = [one.approval for one in approved if str(one.approval.approval_id) == approval_id]
    return SentForm(
        [pair for one in found for pair in (("funding", one.amount), ("approval_id", approval_id))]
    )


def _reasons(ended: Any) -> list[str]:
    return [reason["detail"] for reason in ended["waits_for"]]


def _body(form: SentForm) -> dict[str, Any]:
    policy = {
        name: with_decimal_point(form.value(name).strip())
        for name in ("per_tx_max", "per_day_max")
        if form.value(name).strip()
    }
    life = form.value("ttl_seconds")
    given: dict[str, Any] = {
        "name": form.value("name").strip(),
        "description": form.value("description").strip() or None,
        "funding": with_decimal_point(form.value("funding").strip()),
        "ttl_seconds": int(life) if life in LIVES else None,
        "spend_policy": policy or None,
        "approval_id": form.value("approval_id").strip() or None,
    }
    return {name: value for name, value in given.items() if value is not None}


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
    purses = await db.read(lambda tx: spawn.purses_of(tx, agent.did, limit=SHOWN))
    return agent_page(
        request,
        "own_agents/children.html",
        person,
        agent,
        form,
        status=status,
        purses=purses,
        shown=SHOWN,
        lives=list(LIVES.items()),
        child_path=path_of,
        currency=settings.settlement_currency,
    )
