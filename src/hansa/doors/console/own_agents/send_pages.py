"""Send units as an own agent: a dry run shows receiver, route, fee and balance; then the person confirms."""

from functools import partial
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import Act, Acting, SentForm, SignedInPerson, see_other
from hansa.doors.console.access.forms import with_decimal_point
from hansa.doors.console.api_acts import ApiAnswer
from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Database
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.rooms import agents

from .acting import act_as, approve_first, awaiting_page
from .approved import form_that_pays
from .pages import ACTS, READS, MyDid, address_of, agent_page, own_agent
from .picker import with_dids

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse, route_class=LazyRoute)

SEND = "/teg/send"
QUERY_MAX = 512
MEMBERS = {"receiver_did": "receiver", "message": "memo"}
# Refusals that are about one field and do not name it.
FIELD_OF_CODE = {
    "ACCOUNT_UNKNOWN": "receiver",
    "SELF_TRANSFER": "receiver",
    "SYSTEM_ACCOUNT": "receiver",
    "ACCOUNT_REVOKED": "receiver",
    "INSUFFICIENT_BALANCE": "amount",
    "BELOW_MIN_AMOUNT_OUT": "min_amount_out",
}

_form = partial(form_that_pays, payee="receiver", template="wallet/send.html")


@router.get("/account/agents/{did}/wallet/send", dependencies=READS)
async def show_send(
    did: MyDid, person: SignedInPerson, request: Request, db: Db, settings: Config
) -> HTMLResponse:
    """The form; `receiver`, `amount` and `memo` in the address fill it in, or the `approval` of a payment."""
    agent = await own_agent(db, person, did)
    named = ("receiver", "amount", "memo", "min_amount_out")
    form = SentForm([(name, request.query_params.get(name, "")[:QUERY_MAX]) for name in named])
    return await _form(request, person, agent, form, db, settings=settings)


@router.post("/account/agents/{did}/wallet/send/check", dependencies=ACTS)
async def check_send(did: MyDid, sender: Act, request: Request, db: Db, settings: Config) -> Response:
    """The dry run: nothing is moved."""
    agent, sender = await own_agent(db, sender.person, did), await with_dids(db, sender, "receiver")
    answer = await act_as(request, sender, did, SEND, {**_body(sender.form), "dry_run": True})
    if answer.is_refused:
        return await _refused(request, sender, agent, answer, db, settings=settings)
    return agent_page(
        request,
        "wallet/send-confirm.html",
        sender.person,
        agent,
        sender.form,
        plan=answer.document,
    )


@router.post("/account/agents/{did}/wallet/send", dependencies=ACTS)
async def send(did: MyDid, sender: Act, request: Request, db: Db, settings: Config) -> Response:
    """Move the units."""
    agent = await own_agent(db, sender.person, did)
    await approve_first(request, sender, did)
    answer = await act_as(request, sender, did, SEND, _body(sender.form))
    if answer.is_refused:
        return await _refused(request, sender, agent, answer, db, settings=settings)
    if answer.awaits_owner:
        return awaiting_page(
            request,
            sender,
            agent,
            answer,
            payee=sender.form.value("receiver").strip(),
            amount=answer.document["amount"],
            kept=("receiver", "amount", "memo", "min_amount_out"),
            verb="send",
        )
    return see_other(address_of(did, "wallet", "sent"))


def _body(form: SentForm) -> dict[str, Any]:
    given = {
        "receiver_did": form.value("receiver").strip(),
        "amount": with_decimal_point(form.value("amount").strip()),
        "message": form.value("memo"),
        "min_amount_out": with_decimal_point(form.value("min_amount_out").strip()),
        "approval_id": form.value("approval_id"),
    }
    optional = {"message", "min_amount_out", "approval_id"}
    return {name: value for name, value in given.items() if value or name not in optional}


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
    if answer.code in FIELD_OF_CODE:
        form = SentForm(form.fields, {FIELD_OF_CODE[answer.code]: answer.document["detail"]}, form.message)
    return await _form(request, sender.person, agent, form, db, settings=settings, status=answer.status)
