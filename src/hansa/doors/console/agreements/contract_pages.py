"""Contracts of a party: their timelines, and the next acts of the party."""

from datetime import datetime
from typing import Annotated, Any
from urllib.parse import quote

import msgspec
from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import Act, FormRefused, SentForm, SignedInPerson, see_other
from hansa.doors.console.contract_pages import BIGINT_MAX, wording
from hansa.doors.console.own_agents.acting import approve_first, awaiting_page, fields_to_keep
from hansa.doors.console.own_agents.approved import Approved, approved_payments
from hansa.doors.console.own_agents.pages import ACTS, SHOWN, Offset, as_reader
from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.rooms import commerce

from .parties import (
    OF_AGENT,
    OwnAgent,
    OwnTreasury,
    Party,
    act_of_both,
    page_of_both,
    party_of,
)

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse, route_class=LazyRoute)

REGISTRY_MAX_CHARACTERS = 512
PAYS = "approve-completion"
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


class NextAct(msgspec.Struct, frozen=True):
    """An act that the party may carry out now. `note` is the member of the request that takes the note."""

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

    def address(self, party: Party, done: str) -> str:
        """The address of its page after an act."""
        registry = f"&registry={quote(self.keeper, safe='')}" if self.keeper else ""
        return f"{party.base}/contracts/{self.contract_id}?done={done}{registry}"


CONTRACTOR_ACTS = {
    commerce.Status.PROPOSED: (NextAct("cancel", "Withdraw the proposal", "reason"),),
    commerce.Status.ACCEPTED: (NextAct("mark-failed", "Declare it failed", "reason", is_danger=True),),
    commerce.Status.SUBMITTED: (
        NextAct("request-changes", "Request changes", "note"),
        NextAct(PAYS, "Approve and pay"),
        NextAct("mark-failed", "Declare it failed", "reason", is_danger=True),
    ),
}
# A treasury takes no work.
PROVIDER_ACTS = {
    commerce.Status.PROPOSED: (NextAct("accept", "Accept"),),
    commerce.Status.ACCEPTED: (NextAct("submit", "Submit the work"),),
}


def next_acts(contract: commerce.ContractOut, party: Party) -> tuple[NextAct, ...]:
    """Return the acts that the party may carry out on a contract in its present status."""
    if not party.may_act:
        return ()
    if party.did == contract.contractor_did:
        return CONTRACTOR_ACTS.get(contract.status, ())
    return () if isinstance(party, OwnTreasury) else PROVIDER_ACTS.get(contract.status, ())


@page_of_both(router, "/contracts")
async def show_contracts(
    person: SignedInPerson, request: Request, db: Db, settings: Config, *, offset: Offset = 0
) -> HTMLResponse:
    """The contracts of a party, newest first."""
    party = await party_of(request, person, db)
    query = commerce.ContractFilter(
        party.did, party.did, None, None, None, is_open=False, limit=SHOWN, offset=offset
    )
    found, total = await db.read(lambda tx: commerce.list_contracts(tx, query, settings))
    return party.page("contracts.html", contracts=found, total=total, offset=offset, shown_at_most=SHOWN)


@page_of_both(router, "/contracts/{contract_id:int}")
async def show_contract(
    contract_id: ContractId,
    person: SignedInPerson,
    request: Request,
    db: Db,
    *,
    settings: Config,
    registry: Keeper = "",
) -> HTMLResponse:
    """A contract of a party with its history and the next acts; `registry` is the one that keeps it, where that is a peer."""
    party = await party_of(request, person, db)
    return await _contract_page(party, Named(contract_id, registry), SentForm(), db=db, settings=settings)


@act_of_both(router, "/contracts/{contract_id:int}")
async def act_on_contract(
    contract_id: ContractId, sender: Act, request: Request, db: Db, *, settings: Config
) -> Response:
    """Carry out one of the next acts."""
    party, form = await party_of(request, sender.person, db), sender.form
    every = [act for acts in (*CONTRACTOR_ACTS.values(), *PROVIDER_ACTS.values()) for act in acts]
    act = next((one for one in every if one.name == form.value("act")), None)
    if act is None:
        raise FormRefused({"act": "This is not an act of a contract."})
    named = Named(contract_id, form.value("registry"))
    if isinstance(party, OwnAgent):
        await approve_first(request, sender, party.did)
    answer = await party.act(sender, *named.request_of(act, _body(act, form)))
    if answer.is_refused:
        refused = answer.on(form, reason="note")
        return await _contract_page(party, named, refused, db=db, settings=settings, status=answer.status)
    if isinstance(party, OwnAgent) and answer.awaits_owner:
        shown = await db.read(lambda tx: _read(tx, party, named, settings))
        return awaiting_page(
            request,
            sender,
            party.agent,
            answer,
            payee=shown.provider_did or "",
            amount=_next_part(shown),
            kept=fields_to_keep(form),
            verb="pay",
        )
    return see_other(named.address(party, act.name))


@router.post(f"{OF_AGENT}/contracts/{{contract_id:int}}/page-link", dependencies=ACTS)
async def make_page_link(
    contract_id: ContractId, sender: Act, request: Request, db: Db, *, settings: Config
) -> HTMLResponse:
    """A link by which everyone reads the contract for a day; it is shown once."""
    party = await party_of(request, sender.person, db)
    answer = await party.act(sender, f"/contracts/{contract_id}/page-link")
    if answer.is_refused:
        named, refused = Named(contract_id, ""), answer.on(sender.form)
        return await _contract_page(party, named, refused, db=db, settings=settings, status=answer.status)
    return party.page(
        "contract-link.html",
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


async def _contract_page(
    party: Party,
    named: Named,
    form: SentForm,
    *,
    db: Database,
    settings: Settings,
    status: int = 200,
) -> HTMLResponse:
    shown = await db.read(lambda tx: _read(tx, party, named, settings))
    acts, part = next_acts(shown, party), _next_part(shown)
    approved: list[Approved] = []
    if isinstance(party, OwnAgent) and any(act.name == PAYS for act in acts):
        approved = await db.read(
            lambda tx: approved_payments(tx, party.did, settings, payee=shown.provider_did, amount=part)
        )
    if approved and not form.value("approval_id"):
        chosen = str(approved[0].approval.approval_id)
        form = SentForm([*form.fields, ("approval_id", chosen)], form.errors, form.message)
    is_party = party.did in {shown.contractor_did, shown.provider_did}
    return party.page(
        "contract.html",
        form,
        status=status,
        shown=shown,
        terms=wording(shown.terms),
        criteria=wording(shown.acceptance_criteria),
        acts=acts,
        part=part,
        approved=approved,
        other=shown.provider_did if party.did == shown.contractor_did else shown.contractor_did,
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


async def _read(tx: Tx, party: Party, named: Named, settings: Settings) -> commerce.ContractOut:
    """Raises: ContractUnknown."""
    if named.keeper:
        copy = await commerce.find_copy(tx, named.keeper, named.contract_id, party.did)
        if copy is None:
            raise commerce.ContractUnknown
        return copy
    return commerce.ContractOut.of(
        await commerce.read_contract(tx, as_reader(party.did, party.person), named.contract_id),
        settings.ledger_id,
    )
