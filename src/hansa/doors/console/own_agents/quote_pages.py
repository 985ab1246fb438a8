"""Firm quotes of an own agent: the cost of a payment, signed for a minute, and the token that uses it."""

from datetime import datetime
from functools import partial

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from hansa.doors.console.access import Act, SentForm, SignedInPerson
from hansa.doors.console.access.forms import with_decimal_point
from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.foundation.values.did import DID_MAX_CHARACTERS

from .acting import act_as
from .authorize_pages import VALID_FOR
from .pages import ACTS, READS, MyDid, agent_page, own_agent
from .picker import form_with_suggestions, with_dids

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse, route_class=LazyRoute)

PAGE = "/account/agents/{did}/wallet/quotes"
QUOTE = "/a2a-payment/quote"
# Refusals that are about the payee and do not name it.
OF_THE_PAYEE = frozenset({"CARD_UNKNOWN", "TARGET_MALFORMED"})

_form = partial(form_with_suggestions, template="wallet/quote.html")


@router.get(PAGE, dependencies=READS)
async def show_quote_form(
    did: MyDid, person: SignedInPerson, request: Request, db: Db, settings: Config
) -> HTMLResponse:
    """The form; `payee` in the address fills it in."""
    agent = await own_agent(db, person, did)
    form = SentForm([("payee", request.query_params.get("payee", "")[:DID_MAX_CHARACTERS])])
    return await _form(request, person, agent, form, db, settings=settings)


@router.post(PAGE, dependencies=ACTS)
async def request_quote(did: MyDid, sender: Act, request: Request, db: Db, settings: Config) -> HTMLResponse:
    """A firm quote with its end and the form that accepts it. Nothing is set aside."""
    agent, sender = await own_agent(db, sender.person, did), await with_dids(db, sender, "payee")
    form = sender.form
    query = {"target_agent_did": form.value("payee").strip(), "firm": "true"}
    if amount := with_decimal_point(form.value("amount").strip()):
        query["amount"] = amount
    answer = await act_as(request, sender, did, QUOTE, method="GET", query=query)
    if answer.is_refused:
        refused = answer.on(form, target_agent_did="payee")
        if answer.code in OF_THE_PAYEE:
            refused = SentForm(form.fields, {"payee": answer.document["detail"]}, refused.message)
        return await _form(
            request, sender.person, agent, refused, db, settings=settings, status=answer.status
        )
    return agent_page(
        request,
        "wallet/quoted.html",
        sender.person,
        agent,
        form,
        quoted=answer.document,
        expires_at=datetime.fromisoformat(answer.document["expires_at"]),
        lifetimes=list(VALID_FOR.items()),
    )
