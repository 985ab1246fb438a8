"""Agents for administrators of enforcement: found, suspended, reinstated and revoked, many at once."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec
from fastapi import Query, Request
from fastapi.responses import HTMLResponse, Response
from pydantic import BaseModel

from hansa.doors.console.access import FormRefused, SentForm, SignedIn, act_once
from hansa.doors.console.own_agents.picker import with_dids
from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.foundation.values.money import ZERO, Minor
from hansa.rooms import agents, catalogue, commerce, enforcement, ledger

from .pages import SHOWN, EnforcementAct, Enforcer, Offset, Words, administration_page, administration_router

router = administration_router()

Status = Annotated[Literal["active", "suspended", "revoked", ""], Query()]
ACTS: dict[str, type[BaseModel]] = {
    "suspend": enforcement.SuspendAgentsIn,
    "reinstate": enforcement.ReinstateAgentsIn,
    "revoke": enforcement.RevokeAgentsIn,
}
SOFT = {"suspend": "soft_suspend", "reinstate": "soft_reinstate"}
PREVIEWED_MAX = 100


class Affected(msgspec.Struct, frozen=True):
    """Effects of an act on an agent; amounts in minor units. Without a status there is no such agent here."""

    did: str
    status: str | None
    owner: int | None = None
    liquid: Minor = ZERO
    escrow: Minor = ZERO
    contracts: int = 0
    disputes: int = 0


@router.get("/administration/agents")
async def find_agents(
    person: Enforcer,
    request: Request,
    db: Db,
    *,
    q: Words = "",
    status: Status = "",
    offset: Offset = 0,
) -> HTMLResponse:
    """The agents of this registry, by DID, name or status."""
    return await _list(request, person, db, SentForm(), q=q, status=status, offset=offset)


@router.post("/administration/agents/check")
async def preview_act(sender: EnforcementAct, request: Request, db: Db, settings: Config) -> Response:
    """Show the effects of the act; nothing is changed."""
    sender = await with_dids(db, sender, "dids")
    try:
        act, body = _read(sender.form)
    except FormRefused as refusal:
        refused = sender.form.refused(refusal)
        return await _list(request, sender.person, db, refused, status="", code=refusal.status)
    affected = await db.read(lambda tx: _affected(tx, body.agent_dids[:PREVIEWED_MAX]))
    return administration_page(
        request,
        "agents-check.html",
        sender.person,
        sender.form,
        act=act,
        dids=body.agent_dids,
        affected=affected,
        soft=sender.form.value("soft"),
        currency=settings.settlement_currency,
    )


@router.post("/administration/agents/act")
async def act_on_agents(sender: EnforcementAct, request: Request, writes: catalogue.CardWrites) -> Response:
    """Carry out the act; each agent has its own outcome, effect by effect."""
    act, body = _read(sender.form)
    administrator = sender.person.developer
    outcome: Any
    if act == "suspend":

        async def suspended(tx: Tx) -> enforcement.StoppedAgentsOut:
            rows = await enforcement.suspend_agents(
                tx, body.agent_dids, administrator, reason=body.reason, soft=body.soft_suspend
            )
            return enforcement.StoppedAgentsOut.of(rows)

        outcome = await act_once(request, sender, enforcement.StoppedAgentsOut, suspended, database=writes)
    elif act == "reinstate":

        async def reinstated(tx: Tx) -> enforcement.RestoredAgentsOut:
            rows = await enforcement.reinstate_agents(
                tx, body.agent_dids, administrator, reason=body.reason, soft=body.soft_reinstate
            )
            return enforcement.RestoredAgentsOut.of(rows)

        outcome = await act_once(request, sender, enforcement.RestoredAgentsOut, reinstated, database=writes)
    else:

        async def revoked(tx: Tx) -> enforcement.EndedAgentsOut:
            rows = await enforcement.revoke_agents(tx, body.agent_dids, administrator, reason=body.reason)
            return enforcement.EndedAgentsOut.of(rows)

        outcome = await act_once(request, sender, enforcement.EndedAgentsOut, revoked, database=writes)
    return administration_page(
        request, "outcome.html", sender.person, title=f"{act.capitalize()} agents", rows=outcome.results
    )


def _read(form: SentForm) -> tuple[str, Any]:
    """The act and its request, as the API takes them. Raises: FormRefused."""
    act = form.value("act")
    if act not in ACTS:
        raise FormRefused({"act": "Choose suspend, reinstate or revoke."})
    pasted = form.value("dids").split()
    dids = [*form.values("agent_dids"), *pasted]
    if not dids:
        raise FormRefused({"dids": "Select at least one agent, or enter its handle or DID."})
    given: dict[str, Any] = {"agent_dids": dids}
    if act in SOFT:
        given[SOFT[act]] = form.value("soft") == "true"
    try:
        return act, form.read_as(ACTS[act], **given)
    except FormRefused as refusal:
        errors = dict(refusal.errors)
        if "agent_dids" in errors:
            errors["dids"] = errors.pop("agent_dids")
        raise FormRefused(errors) from None


async def _affected(tx: Tx, dids: Sequence[str]) -> list[Affected]:
    statuses = await agents.statuses_of(tx, dids)
    owners = await agents.owners_of(tx, list(statuses))
    found = []
    for did in dids:
        if did not in statuses:
            found.append(Affected(did, None))
            continue
        held = await ledger.balance_of(tx, did)
        contracts = await commerce.open_contracts_of(tx, did)
        disputes = await commerce.open_disputes_of(tx, did)
        found.append(
            Affected(did, statuses[did], owners.get(did), held.liquid, held.escrow, contracts, disputes)
        )
    return found


async def _list(
    request: Request,
    person: SignedIn,
    db: Database,
    form: SentForm,
    *,
    q: str = "",
    status: str,
    offset: int = 0,
    code: int = 200,
) -> HTMLResponse:
    async def reading(tx: Tx) -> tuple[list[agents.OwnedAgent], int, dict[str, int]]:
        found, total = await agents.find_agents(tx, q, status or None, limit=SHOWN, offset=offset)
        return found, total, await agents.owners_of(tx, [agent.did for agent in found])

    found, total, owners = await db.read(reading)
    return administration_page(
        request,
        "agents.html",
        person,
        form,
        status=code,
        agents=found,
        owners=owners,
        total=total,
        offset=offset,
        q=q,
        chosen=status,
    )
