"""Proposal of a contract by an own agent."""

import re
from functools import partial
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import Act, SentForm, SignedInPerson, see_other
from hansa.doors.console.access.forms import moment_in_utc, with_decimal_point
from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.rooms import commerce

from .acting import act_as, approve_first, awaiting_page, fields_to_keep
from .approved import form_that_pays
from .pages import ACTS, READS, MyDid, address_of, own_agent
from .picker import with_dids

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse, route_class=LazyRoute)

# Rows that a new form has, and that one press of its button adds.
MILESTONE_ROWS = 4
MILESTONE_MEMBERS = ("title", "amount", "due")
MORE_ROWS = "more_milestones"
MILESTONE_FIELD = re.compile(r"milestone_([1-9][0-9]?)_(?:title|amount|due)", re.ASCII)
COUNT = re.compile(r"[0-9]{1,9}", re.ASCII)

_proposal_form = partial(
    form_that_pays,
    payee="provider_did",
    template="agreements/propose.html",
    milestones_max=commerce.MILESTONES_MAX,
)


@router.get("/account/agents/{did}/contracts/new", dependencies=READS)
async def show_proposal(
    did: MyDid, person: SignedInPerson, request: Request, db: Db, settings: Config
) -> HTMLResponse:
    """The form of a proposal; `provider` in the address fills it in, or the `approval` of a payment."""
    agent = await own_agent(db, person, did)
    form = SentForm([("provider_did", request.query_params.get("provider", ""))])
    return await _proposal_form(
        request, person, agent, form, db, settings=settings, milestone_rows=MILESTONE_ROWS
    )


@router.post("/account/agents/{did}/contracts", dependencies=ACTS)
async def propose(did: MyDid, sender: Act, request: Request, db: Db, settings: Config) -> Response:
    """Propose a contract, or show the form with more rows for milestones."""
    agent, sender = await own_agent(db, sender.person, did), await with_dids(db, sender, "provider_did")
    form, rows = sender.form, _rows_of(sender.form)
    if form.value(MORE_ROWS):
        more = min(rows + MILESTONE_ROWS, commerce.MILESTONES_MAX)
        return await _proposal_form(
            request, sender.person, agent, form, db, settings=settings, milestone_rows=more
        )
    await approve_first(request, sender, did)
    answer = await act_as(request, sender, did, "/contracts", _proposal(form))
    if answer.is_refused:
        refused = answer.on(form, **_fields_of_milestones(form))
        return await _proposal_form(
            request,
            sender.person,
            agent,
            refused,
            db,
            settings=settings,
            status=answer.status,
            milestone_rows=rows,
        )
    if answer.awaits_owner:
        return awaiting_page(
            request,
            sender,
            agent,
            answer,
            payee=form.value("provider_did").strip(),
            amount=with_decimal_point(form.value("amount").strip()),
            kept=fields_to_keep(form),
            verb="propose",
        )
    return see_other(address_of(did, f"contracts/{answer.document['id']}", "proposed"))


def _proposal(form: SentForm) -> dict[str, Any]:
    texts = ("title", "contract_type", "terms", "acceptance_criteria")
    optional = ("provider_did", "approval_id")
    bond = form.value("provider_bond_min").strip()
    jobs = form.value("provider_jobs_min").strip()
    milestones = [_milestone(form, row) for row in _filled_rows(form)]
    return {
        **{name: form.value(name).strip() for name in texts},
        "amount": with_decimal_point(form.value("amount").strip()),
        **{name: form.value(name).strip() for name in optional if form.value(name).strip()},
        **{name: moment_in_utc(form.value(name)) for name in ("submit_by", "review_by") if form.value(name)},
        **{name: form.value(name) == "true" for name in ("funded", "auto_approve")},
        **({"provider_bond_min": with_decimal_point(bond)} if bond else {}),
        **({"provider_jobs_min": _count(jobs)} if jobs else {}),
        **({"milestones": milestones} if milestones else {}),
    }


def _filled_rows(form: SentForm) -> list[int]:
    """The rows of milestones in which any field is filled in, counted from 1."""
    return [
        row
        for row in range(1, _rows_of(form) + 1)
        if any(form.value(_field_of(row, name)).strip() for name in MILESTONE_MEMBERS)
    ]


def _rows_of(form: SentForm) -> int:
    """The number of rows for milestones that the form had."""
    numbers = [int(found[1]) for name, _ in form.fields if (found := MILESTONE_FIELD.fullmatch(name))]
    return min(max([MILESTONE_ROWS, *numbers]), commerce.MILESTONES_MAX)


def _milestone(form: SentForm, row: int) -> dict[str, Any]:
    title, amount, due = (form.value(_field_of(row, name)).strip() for name in MILESTONE_MEMBERS)
    return {
        "title": title,
        "amount": with_decimal_point(amount),
        **({"due": moment_in_utc(due)} if due else {}),
    }


def _fields_of_milestones(form: SentForm) -> dict[str, str]:
    """The fields of the form by the members of the request: `milestones.0.amount` is in the first row that is filled in."""
    return {
        f"milestones.{place}.{name}": _field_of(row, name)
        for place, row in enumerate(_filled_rows(form))
        for name in MILESTONE_MEMBERS
    }


def _field_of(row: int, name: str) -> str:
    return f"milestone_{row}_{name}"


def _count(text: str) -> int | str:
    """A number as the API takes it; any other text as it is, for the refusal of the API."""
    return int(text) if COUNT.fullmatch(text) else text
