"""Authorize a payment as an own agent: a dry run shows payee, fee and balance; then the token is made and shown once."""

from datetime import datetime
from functools import partial
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from hansa.doors.console.access import Act, Acting, SentForm, SignedInPerson, whole_number
from hansa.doors.console.access.forms import with_decimal_point
from hansa.doors.console.api_acts import ApiAnswer
from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Database
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.rooms import agents

from .acting import act_as, approve_first, awaiting_page
from .approved import form_that_pays
from .pages import ACTS, READS, MyDid, agent_page, own_agent
from .picker import with_dids
from .send_pages import SEND

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse, route_class=LazyRoute)

AUTHORIZE = "/a2a-payment/authorize"
VALID_FOR = {"60": "1 minute", "300": "5 minutes", "900": "15 minutes", "3600": "1 hour"}
# Members of the requests, and the fields of the form that state them.
MEMBERS = {
    "receiver_did": "payee",
    "target_agent_did": "payee",
    "ttl_seconds": "ttl",
    "capture_by": "settled_by",
}
# Refusals that are about one field and do not name it.
FIELD_OF_CODE = {
    "ACCOUNT_UNKNOWN": "payee",
    "SELF_TRANSFER": "payee",
    "SYSTEM_ACCOUNT": "payee",
    "ACCOUNT_REVOKED": "payee",
    "RESERVE_NOT_POSSIBLE": "settled_by",
    "INSUFFICIENT_BALANCE": "amount",
}

_form = partial(
    form_that_pays, payee="payee", template="wallet/authorize.html", lifetimes=list(VALID_FOR.items())
)


@router.get("/account/agents/{did}/wallet/tokens/new", dependencies=READS)
async def show_authorize(
    did: MyDid, person: SignedInPerson, request: Request, db: Db, settings: Config
) -> HTMLResponse:
    """The form; `payee` in the address fills it in, or the `approval` of a payment."""
    agent = await own_agent(db, person, did)
    form = SentForm([("payee", request.query_params.get("payee", ""))])
    return await _form(request, person, agent, form, db, settings=settings)


@router.post("/account/agents/{did}/wallet/tokens/check", dependencies=ACTS)
async def check_authorize(
    did: MyDid, sender: Act, request: Request, db: Db, settings: Config
) -> HTMLResponse:
    """The dry run: a transfer of the amount to the payee, as the token would pay it. Nothing is authorized or moved."""
    agent, sender = await own_agent(db, sender.person, did), await with_dids(db, sender, "payee")
    order = _order(sender.form)
    dry_run = {"receiver_did": order["target_agent_did"], "amount": order["amount"], "dry_run": True}
    if "approval_id" in order:
        dry_run["approval_id"] = order["approval_id"]
    answer = await act_as(request, sender, did, SEND, dry_run)
    if answer.is_refused:
        return await _refused(request, sender, agent, answer, db, settings=settings)
    return agent_page(
        request,
        "wallet/authorize-confirm.html",
        sender.person,
        agent,
        sender.form,
        plan=answer.document,
        valid_for=VALID_FOR.get(sender.form.value("ttl"), sender.form.value("ttl")),
    )


@router.post("/account/agents/{did}/wallet/tokens", dependencies=ACTS)
async def authorize(did: MyDid, sender: Act, request: Request, db: Db, settings: Config) -> HTMLResponse:
    """Make the token; the same form shows it again."""
    agent = await own_agent(db, sender.person, did)
    await approve_first(request, sender, did)
    order = _order(sender.form)
    answer = await act_as(request, sender, did, AUTHORIZE, order)
    if answer.is_refused:
        return await _refused(request, sender, agent, answer, db, settings=settings)
    if answer.awaits_owner:
        return awaiting_page(
            request,
            sender,
            agent,
            answer,
            payee=order["target_agent_did"],
            amount=order["amount"],
            kept=("payee", "amount", "ttl", "settled_by", "resource", "quote_token"),
            verb="authorize",
        )
    return agent_page(
        request,
        "wallet/authorized.html",
        sender.person,
        agent,
        new=answer.document,
        expires_at=datetime.fromisoformat(answer.document["expires_at"]),
    )


def _order(form: SentForm) -> dict[str, Any]:
    given = {
        "target_agent_did": form.value("payee").strip(),
        "amount": with_decimal_point(form.value("amount").strip()),
        "ttl_seconds": whole_number(form.value("ttl")),
        "capture_by": form.value("settled_by"),
        "resource": form.value("resource").strip(),
        "approval_id": form.value("approval_id").strip(),
        "quote_token": form.value("quote_token").strip(),
    }
    required = {"target_agent_did", "amount"}
    return {name: value for name, value in given.items() if value != "" or name in required}


async def _refused(
    request: Request,
    sender: Acting,
    agent: agents.OwnedAgent,
    answer: ApiAnswer,
    db: Database,
    *,
    settings: Settings,
) -> HTMLResponse:
    form = answer.on(sender.form, **MEMBERS)
    if field := FIELD_OF_CODE.get(answer.code):
        form = SentForm(form.fields, {field: answer.document["detail"]}, form.message)
    return await _form(request, sender.person, agent, form, db, settings=settings, status=answer.status)
