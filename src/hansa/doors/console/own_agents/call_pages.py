"""Call an agent for payment: price, fee and balance before, then the answer, with the receipt of the payment.

A call is a purchase of an own agent (`POST /a2a-payment/buy`): the registry pays nothing when nothing was delivered.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import Act, SentForm, SignedIn, SignedInPerson, account_page
from hansa.doors.console.agent_page import path_of
from hansa.doors.console.prices import Price, price_of
from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.foundation.plumbing.storage.joined_reads import read_together
from hansa.foundation.plumbing.web.in_process import InnerCall, call_within
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.foundation.values.did import DID_MAX_CHARACTERS
from hansa.rooms import agents, catalogue, ledger

from .acting import act_as, approve_first, awaiting_page
from .pages import ACTS, READS, acting_as, own_agent

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse, route_class=LazyRoute)

PAGE = "/account/call"
BUY, QUOTE = "/a2a-payment/buy", "/api/v1/a2a-payment/quote"
PAYERS_SHOWN = 50
EXAMPLES_SHOWN = 6
MESSAGE_MAX_CHARACTERS = 20_000
ANSWER_TEXTS_MAX, DEPTH_MAX = 20, 12

Payee = Annotated[str, Query(alias="agent", max_length=DID_MAX_CHARACTERS)]


class Payer(msgspec.Struct, frozen=True):
    """Own agent that can pay, with its liquid balance in minor units."""

    agent: agents.OwnedAgent
    liquid: int


class Callee(msgspec.Struct, frozen=True):
    """Agent that is called."""

    card: catalogue.Card
    path: str
    price: Price
    examples: list[str]

    @property
    def is_callable(self) -> bool:
        """Return whether a purchase is possible: a paid, active agent of this registry."""
        return self.card.source_registry is None and self.card.status == "active" and not self.price.is_free


@router.get(PAGE, dependencies=READS)
async def show_call(
    person: SignedInPerson,
    request: Request,
    db: Db,
    settings: Config,
    *,
    payee: Payee = "",
    payer: Annotated[str, Query(alias="as", max_length=DID_MAX_CHARACTERS)] = "",
    message: Annotated[str, Query(max_length=MESSAGE_MAX_CHARACTERS)] = "",
) -> HTMLResponse:
    """The form with the price of a call; nothing is paid. Without an agent, the search for one. Raises: CardUnknown."""
    if not payee:
        return account_page(request, "own_agents/call-choose.html", person, section="/account/agents")
    form = SentForm([("agent", payee), ("payer", payer), ("message", message)])
    return await _form(request, person, form, db, settings)


@router.post(PAGE, dependencies=ACTS)
async def call(sender: Act, request: Request, db: Db, settings: Config) -> Response:
    """Pay for the call and show its answer; a refusal is shown beside the form."""
    form = sender.form
    payer = await own_agent(db, sender.person, form.value("payer"))
    approval = await approve_first(request, sender, payer.did)
    body = {
        "target_agent_did": form.value("agent"),
        "message": form.value("message"),
        "max_amount": form.value("amount"),
        **({"approval_id": approval} if approval else {}),
    }
    answer = await act_as(request, sender, payer.did, BUY, body)
    if answer.is_refused:
        refused = answer.on(form, target_agent_did="agent", max_amount="amount")
        return await _form(request, sender.person, refused, db, settings, status=answer.status)
    if answer.awaits_owner:
        return awaiting_page(
            request,
            sender,
            payer,
            answer,
            payee=form.value("agent"),
            amount=form.value("amount"),
            kept=("agent", "payer", "message", "amount"),
            verb="call",
        )
    callee = await db.read(lambda tx: _callee(tx, form.value("agent"), settings))
    return account_page(
        request,
        "own_agents/call-answer.html",
        sender.person,
        form,
        section="/account/agents",
        callee=callee,
        payer=payer,
        bought=answer.document,
        texts=list(texts_of(answer.document["answer"])),
    )


def texts_of(answer: Any) -> Iterator[str]:
    """The texts of the parts of an answer in the form of A2A, at most twenty; none of any other answer."""
    yield from islice(_texts(answer, 0), ANSWER_TEXTS_MAX)


def _texts(answer: Any, depth: int) -> Iterator[str]:
    if depth > DEPTH_MAX:
        return
    if isinstance(answer, list):
        for one in answer:
            yield from _texts(one, depth + 1)
    elif isinstance(answer, dict):
        parts = answer.get("parts")
        if isinstance(parts, list):
            for part in parts:
                if isinstance(part, dict) and isinstance(part.get("text"), str):
                    yield part["text"]
        for name in ("result", "message", "artifacts", "status", "task"):
            if name in answer:
                yield from _texts(answer[name], depth + 1)


async def _form(
    request: Request, person: SignedIn, form: SentForm, db: Database, settings: Settings, *, status: int = 200
) -> HTMLResponse:
    callee, payers = await db.read(
        lambda tx: read_together(
            tx, lambda tx: _callee(tx, form.value("agent"), settings), lambda tx: payers_of(tx, person)
        )
    )
    chosen = next((one for one in payers if one.agent.did == form.value("payer")), None)
    payer = chosen or max(payers, key=lambda one: one.liquid, default=None)
    quoted = None
    if payer is not None and callee.is_callable:
        asked = InnerCall("GET", QUOTE, {"target_agent_did": form.value("agent")})
        answer = await call_within(request, asked, acting_as(payer.agent, person))
        quoted = None if answer.is_refusal else answer.content
    return account_page(
        request,
        "own_agents/call.html",
        person,
        form,
        status=status,
        section="/account/agents",
        callee=callee,
        payers=payers,
        payer=payer,
        quoted=quoted,
        currency=settings.settlement_currency,
    )


async def _callee(tx: Tx, did: str, settings: Settings) -> Callee:
    card = await catalogue.card_of_agent(tx, did)
    document = card.card_data or {}
    skills = document.get("skills")
    return Callee(
        card,
        path_of(card.did, card.card_id),
        price_of(document, settings.settlement_currency),
        list(_examples(skills if isinstance(skills, list) else []))[:EXAMPLES_SHOWN],
    )


def _examples(skills: list[Any]) -> Iterator[str]:
    for skill in skills:
        examples = skill.get("examples") if isinstance(skill, dict) else None
        for example in examples if isinstance(examples, list) else []:
            if isinstance(example, str):
                yield example


async def payers_of(tx: Tx, person: SignedIn) -> list[Payer]:
    """Own agents that are active, with their balances."""
    owned, _ = await agents.oldest_of_developer(tx, person.developer.id, PAYERS_SHOWN)
    active = [one for one in owned if one.status == "active"]
    named, balances = await read_together(
        tx,
        lambda tx: agents.currently_named(tx, active),
        lambda tx: ledger.balances_of(tx, [one.did for one in active]),
    )
    return [Payer(one, balances[one.did].liquid) for one in named if one.did in balances]
