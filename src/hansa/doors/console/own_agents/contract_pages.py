"""The contracts of an own agent: their timelines, and the next acts of the agent."""

import re
from datetime import datetime
from functools import partial
from typing import Annotated, Any
from urllib.parse import quote

import msgspec
from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import Act, FormRefused, SentForm, SignedIn, SignedInPerson, see_other
from hansa.doors.console.access.forms import moment_in_utc, with_decimal_point
from hansa.doors.console.contract_pages import BIGINT_MAX, wording
from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.foundation.plumbing.web.caller import Agent
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.rooms import agents, commerce

from .acting import act_as, approve_first, awaiting_page, fields_to_keep
from .approved import approved_payments, form_that_pays
from .pages import ACTS, READS, MyDid, address_of, agent_page, as_reader, own_agent
from .picker import with_dids

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse, route_class=LazyRoute)

SHOWN = 50
REGISTRY_MAX_CHARACTERS = 512
# Rows that a new form has, and that one press of its button adds.
MILESTONE_ROWS = 4
MILESTONE_MEMBERS = ("title", "amount", "due")
MORE_ROWS = "more_milestones"
MILESTONE_FIELD = re.compile(r"milestone_([1-9][0-9]?)_(?:title|amount|due)", re.ASCII)
PAYS = "approve-completion"
COUNT = re.compile(r"[0-9]{1,9}", re.ASCII)
DISPUTABLE = frozenset(
    {
        commerce.Status.ACCEPTED,
        commerce.Status.SUBMITTED,
        commerce.Status.COMPLETED,
        commerce.Status.FAILED,
    }
)

ContractId = Annotated[int, Path(ge=1, le=BIGINT_MAX)]
Keeper = Annotated[str, Query(max_length=REGISTRY_MAX_CHARACTERS)]
Offset = Annotated[int, Query(ge=0, le=2**31 - 1)]

_proposal_form = partial(
    form_that_pays,
    payee="provider_did",
    template="agreements/propose.html",
    milestones_max=commerce.MILESTONES_MAX,
)


class NextAct(msgspec.Struct, frozen=True):
    """An act that the agent may carry out now. `note` is the member of the request that takes the note."""

    name: str
    label: str
    note: str | None = None
    is_danger: bool = False


class Named(msgspec.Struct, frozen=True):
    """A contract by its number, and the ledger id of the registry that keeps it; empty: this one."""

    contract_id: int
    keeper: str

    def request_of(self, act: NextAct, body: dict[str, Any] | None) -> tuple[str, dict[str, Any] | None]:
        """Path and body of an act in the API."""
        path = f"/contracts/{self.contract_id}/{act.name}"
        if not self.keeper:
            return path, body
        return f"{path}-federated", {"contractor_registry": self.keeper, **(body or {})}

    def address(self, did: str, done: str) -> str:
        """The address of its page after an act."""
        registry = f"&registry={quote(self.keeper, safe='')}" if self.keeper else ""
        return address_of(did, f"contracts/{self.contract_id}", done) + registry


CONTRACTOR_ACTS = {
    commerce.Status.PROPOSED: (NextAct("cancel", "Withdraw the proposal", "reason"),),
    commerce.Status.ACCEPTED: (NextAct("mark-failed", "Declare it failed", "reason", is_danger=True),),
    commerce.Status.SUBMITTED: (
        NextAct("request-changes", "Request changes", "note"),
        NextAct(PAYS, "Approve and pay"),
        NextAct("mark-failed", "Declare it failed", "reason", is_danger=True),
    ),
}
PROVIDER_ACTS = {
    commerce.Status.PROPOSED: (NextAct("accept", "Accept"),),
    commerce.Status.ACCEPTED: (NextAct("submit", "Submit the work"),),
}


def next_acts(contract: commerce.ContractOut, did: str) -> tuple[NextAct, ...]:
    """Return the acts that an agent may do with a contract in its present status."""
    if did == contract.contractor_did:
        return CONTRACTOR_ACTS.get(contract.status, ())
    return PROVIDER_ACTS.get(contract.status, ())


@router.get("/account/agents/{did}/contracts", dependencies=READS)
async def show_contracts(
    did: MyDid, person: SignedInPerson, request: Request, db: Db, settings: Config, *, offset: Offset = 0
) -> HTMLResponse:
    """The contracts of an own agent, newest first."""
    agent = await own_agent(db, person, did)
    query = commerce.ContractFilter(did, did, None, None, None, is_open=False, limit=SHOWN, offset=offset)
    found, total = await db.read(lambda tx: commerce.list_contracts(tx, query, settings))
    return agent_page(
        request,
        "agreements/contracts.html",
        person,
        agent,
        contracts=found,
        total=total,
        offset=offset,
        shown_at_most=SHOWN,
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


@router.get("/account/agents/{did}/contracts/{contract_id:int}", dependencies=READS)
async def show_own_contract(
    did: MyDid,
    contract_id: ContractId,
    person: SignedInPerson,
    request: Request,
    db: Db,
    *,
    settings: Config,
    registry: Keeper = "",
) -> HTMLResponse:
    """A contract of an own agent with its history and the next acts; `registry` is the one that keeps it, where that is a peer."""
    agent = await own_agent(db, person, did)
    named = Named(contract_id, registry)
    return await _contract_page(request, person, agent, named, SentForm(), db=db, settings=settings)


@router.post("/account/agents/{did}/contracts/{contract_id:int}", dependencies=ACTS)
async def act_on_contract(
    did: MyDid, contract_id: ContractId, sender: Act, request: Request, db: Db, *, settings: Config
) -> Response:
    """Carry out one of the next acts."""
    agent = await own_agent(db, sender.person, did)
    form = sender.form
    every = [act for acts in (*CONTRACTOR_ACTS.values(), *PROVIDER_ACTS.values()) for act in acts]
    act = next((one for one in every if one.name == form.value("act")), None)
    if act is None:
        raise FormRefused({"act": "This is not an act of a contract."})
    named = Named(contract_id, form.value("registry"))
    await approve_first(request, sender, did)
    answer = await act_as(request, sender, did, *named.request_of(act, _body(act, form)))
    if answer.is_refused:
        return await _contract_page(
            request,
            sender.person,
            agent,
            named,
            answer.on(form, reason="note"),
            db=db,
            settings=settings,
            status=answer.status,
        )
    if answer.awaits_owner:
        shown = await db.read(lambda tx: _read(tx, as_reader(agent.did, sender.person), named, settings))
        return awaiting_page(
            request,
            sender,
            agent,
            answer,
            payee=shown.provider_did or "",
            amount=_next_part(shown),
            kept=fields_to_keep(form),
            verb="pay",
        )
    return see_other(named.address(did, act.name))


@router.post("/account/agents/{did}/contracts/{contract_id:int}/page-link", dependencies=ACTS)
async def make_page_link(
    did: MyDid, contract_id: ContractId, sender: Act, request: Request, db: Db, *, settings: Config
) -> HTMLResponse:
    """A link by which everyone reads the contract for a day; it is shown once."""
    agent = await own_agent(db, sender.person, did)
    answer = await act_as(request, sender, did, f"/contracts/{contract_id}/page-link")
    if answer.is_refused:
        named, refused = Named(contract_id, ""), answer.on(sender.form)
        return await _contract_page(
            request, sender.person, agent, named, refused, db=db, settings=settings, status=answer.status
        )
    return agent_page(
        request,
        "agreements/contract-link.html",
        sender.person,
        agent,
        number=contract_id,
        link=answer.document["url"],
        expires_at=datetime.fromisoformat(answer.document["expires_at"]),
    )


def _body(act: NextAct, form: SentForm) -> dict[str, Any] | None:
    """Return the request of an act. A deliverable has an address, a digest and a note only together."""
    if act.name == "submit":
        given = {name: form.value(name).strip() for name in ("uri", "sha256", "note") if form.value(name)}
        return {"deliverable": given} if given else None
    if act.name == PAYS:
        approval = form.value("approval_id").strip()
        return {"approval_id": approval} if approval else None
    return {act.note: form.value("note")} if act.note and form.value("note") else None


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


async def _contract_page(
    request: Request,
    person: SignedIn,
    agent: agents.OwnedAgent,
    named: Named,
    form: SentForm,
    *,
    db: Database,
    settings: Settings,
    status: int = 200,
) -> HTMLResponse:
    shown = await db.read(lambda tx: _read(tx, as_reader(agent.did, person), named, settings))
    is_party = agent.did in {shown.contractor_did, shown.provider_did}
    acts, part = next_acts(shown, agent.did) if agent.status == "active" else (), _next_part(shown)
    approved = []
    if any(act.name == PAYS for act in acts):
        approved = await db.read(
            lambda tx: approved_payments(tx, agent.did, settings, payee=shown.provider_did, amount=part)
        )
    if approved and not form.value("approval_id"):
        chosen = str(approved[0].approval.approval_id)
        form = SentForm([*form.fields, ("approval_id", chosen)], form.errors, form.message)
    return agent_page(
        request,
        "agreements/contract.html",
        person,
        agent,
        form,
        status=status,
        shown=shown,
        terms=wording(shown.terms),
        criteria=wording(shown.acceptance_criteria),
        acts=acts,
        part=part,
        approved=approved,
        other=shown.provider_did if agent.did == shown.contractor_did else shown.contractor_did,
        is_disputable=is_party and (shown.status in DISPUTABLE or _is_paid_after_its_ruling(shown)),
        keeper=named.keeper,
        is_party=is_party,
    )


def _next_part(shown: commerce.ContractOut) -> str:
    """Amount that the next approval pays: that of the milestone whose turn it is, or the whole."""
    return next(
        (one.amount for one in shown.milestones if one.state in {"pending", "submitted"}), shown.amount
    )


def _is_paid_after_its_ruling(shown: commerce.ContractOut) -> bool:
    """Return whether a ruling closed the contract, and a payment that it does not owe came to light later."""
    return (
        shown.status == commerce.Status.CLOSED and bool(shown.history) and shown.history[-1].act == "overpaid"
    )


async def _read(tx: Tx, reader: Agent, named: Named, settings: Settings) -> commerce.ContractOut:
    """Raises: ContractUnknown."""
    if named.keeper:
        copy = await commerce.find_copy(tx, named.keeper, named.contract_id, reader.did)
        if copy is None:
            raise commerce.ContractUnknown
        return copy
    return commerce.ContractOut.of(
        await commerce.read_contract(tx, reader, named.contract_id), settings.ledger_id
    )
