"""Capabilities that an own agent delegates or holds: listed, issued with a token that is shown once, and revoked."""

from typing import TypeVar
from uuid import UUID

from fastapi import Depends, Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import (
    Act,
    FormRefused,
    ProvedAct,
    SentForm,
    SignedIn,
    SignedInPerson,
    act_once,
    see_other,
    whole_number,
)
from hansa.doors.console.access.forms import with_decimal_point
from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.joined_reads import read_together
from hansa.foundation.plumbing.web.caller import require_permission
from hansa.foundation.plumbing.web.limits import limited
from hansa.foundation.values.errors import Refused
from hansa.foundation.values.roles import PERMISSIONS, permissions_of
from hansa.rooms import agents

from .pages import MyDid, acting_as, agent_page, own_agent, path_of, settings_router
from .picker import suggestions, with_dids

router = settings_router()

DELEGATES = "authz.delegate"
NUMBERS = ("max_uses", "ttl_seconds")
# Fields that name agents.
NAMED = ("holder_agent_did", "payees")

Terms = TypeVar("Terms", agents.CapabilityIn, agents.AttenuationIn)


@router.get("/capabilities")
async def show_capabilities(did: MyDid, person: SignedInPerson, request: Request, db: Db) -> HTMLResponse:
    """The capabilities that the agent issued or holds."""
    return await _page(request, person, db, did)


@router.post("/capabilities", dependencies=[Depends(limited(agents.ACT_TOKENS))])
async def issue_capability(
    did: MyDid, sender: ProvedAct, request: Request, db: Db, settings: Config
) -> Response:
    """Issue a capability in the name of the agent, and show its token."""
    person, sender = sender.person, await with_dids(db, sender, *NAMED)
    own = await own_agent(db, person, did)
    issuer = acting_as(own, person)

    async def issued(tx: Tx) -> agents.CapabilityIssuedOut:
        await agents.act_as(tx, person.developer, did)
        terms = body.terms(settings.settlement_currency)
        return agents.CapabilityIssuedOut.of(
            await agents.issue_capability(tx, issuer, terms, body.recipient, settings)
        )

    try:
        require_permission(issuer, DELEGATES, settings.agent_rbac_mode)
        body = requested(sender.form, agents.CapabilityIn, agents.CaveatsIn)
        new = await act_once(request, sender, agents.CapabilityIssuedOut, issued)
    except Refused as refusal:
        refused = sender.form.refused(refusal)
        return await _page(request, person, db, did, refused, status=refusal.status)
    return agent_page(request, "own_agents/capability-shown.html", person, own, new=new)


@router.post("/capabilities/{capability_id:uuid}/revoke")
async def revoke_capability(
    did: MyDid, capability_id: UUID, sender: Act, request: Request, db: Db
) -> Response:
    """Revoke a capability with all that was derived from it, in the name of the agent."""
    person = sender.person
    await own_agent(db, person, did)

    async def revoked(tx: Tx) -> None:
        await agents.act_as(tx, person.developer, did)
        await agents.revoke_capability(tx, capability_id, did)

    try:
        await db.transaction(revoked)
    except Refused as refusal:
        refused = sender.form.refused(refusal)
        return await _page(request, person, db, did, refused, status=refusal.status)
    return see_other(f"{path_of(did)}/capabilities?done=revoked")


def requested(
    form: SentForm, model: type[Terms], caveats_model: type[agents.CaveatsIn | agents.NarrowerCaveatsIn]
) -> Terms:
    """The capability that the form describes, to be issued or drawn from another. Raises: FormRefused."""
    permissions, payees = form.values("permissions"), form.value("payees").split()
    if not permissions:
        raise FormRefused({"permissions": "Select at least one permission."})
    limits_payees = form.value("limits_payees") == "true"
    if payees and not limits_payees:
        raise FormRefused({"limits_payees": "Check this box to allow only these payees, or remove them."})
    caveats = form.read_as(
        caveats_model,
        permissions=permissions,
        max_per_tx=with_decimal_point(form.value("max_per_tx").strip()) or None,
        counterparty_allow=payees if limits_payees else None,
        allowed_currencies=None,
        operations=None,
        no_redelegate=form.value("no_redelegate") == "true",
    )
    numbers = {name: whole_number(form.value(name)) for name in NUMBERS if form.value(name).strip()}
    return form.read_as(
        model,
        caveats=caveats,
        holder_agent_did=form.value("holder_agent_did").strip() or None,
        budget_total=with_decimal_point(form.value("budget_total").strip()) or None,
        currency=None,
        **numbers,
    )


async def _page(
    request: Request, person: SignedIn, db: Db, did: str, form: SentForm | None = None, *, status: int = 200
) -> HTMLResponse:
    agent, chains, suggested = await db.read(
        lambda tx: read_together(
            tx,
            lambda tx: agents.own_agent(tx, person.developer.id, did),
            lambda tx: agents.delegations(tx, person.developer, did),
            lambda tx: suggestions(tx, person, did),
        )
    )
    return agent_page(
        request,
        "own_agents/capabilities.html",
        person,
        agent,
        form,
        status=status,
        capabilities=[agents.CapabilityOut.seen_by(did, chain) for chain in chains],
        permissions=PERMISSIONS,
        held=permissions_of(agent.roles),
        suggested=suggested,
        done=request.query_params.get("done", ""),
    )
