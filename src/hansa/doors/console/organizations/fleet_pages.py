"""Agents of an organization: listed, moved in by their owner, and released to an owner who asks."""

from collections.abc import Sequence

from fastapi import Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import ProvedAct, SentForm, SignedIn, SignedInPerson
from hansa.doors.console.api_acts import act_as_person
from hansa.foundation.plumbing.process.runtime import Db
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.rooms import agents
from hansa.rooms.organizations import Organization, Role

from .pages import LIST, Key, held, organization_page, organization_router, outcome

router = organization_router()

AGENTS_SHOWN, OWN_OFFERED = 200, 200


@router.get("/agents")
async def show_agents(organization_id: Key, person: SignedInPerson, request: Request, db: Db) -> HTMLResponse:
    """The agents of the organization, and own agents that may move in."""
    return await _page(request, person, db, organization_id)


@router.post("/agents")
async def take_agent_in(organization_id: Key, sender: ProvedAct, request: Request, db: Db) -> Response:
    """Give an own agent to the organization."""
    path = f"/organizations/{organization_id}/agents"
    answer = await act_as_person(request, sender, "POST", path, {"did": sender.form.value("did")})
    return await outcome(
        sender,
        answer,
        f"{LIST}/{organization_id}/agents?done=moved",
        lambda refused, status: _page(request, sender.person, db, organization_id, refused, status=status),
    )


@router.post("/agents/{did}/release")
async def release_agent(
    organization_id: Key, did: str, sender: ProvedAct, request: Request, db: Db
) -> Response:
    """Give an agent with an empty account to the owner who asks, or ask for the approvals that this needs."""
    path = f"/organizations/{organization_id}/agents/{did}/release"
    answer = await act_as_person(request, sender, "POST", path)
    is_pending = not answer.is_refused and answer.document.get("status") == "PENDING"
    base = f"{LIST}/{organization_id}"
    return await outcome(
        sender,
        answer,
        f"{base}/treasury/requests/{answer.document['request_id']}?done=asked"
        if is_pending
        else f"{base}/agents?done=released",
        lambda refused, status: _page(request, sender.person, db, organization_id, refused, status=status),
        base=base,
    )


async def _page(
    request: Request,
    person: SignedIn,
    db: Database,
    key: str,
    form: SentForm | None = None,
    *,
    status: int = 200,
) -> HTMLResponse:
    async def reading(
        tx: Tx,
    ) -> tuple[Organization, Sequence[agents.OwnedAgent], Sequence[agents.OwnedAgent]]:
        organization = await held(tx, person, key)
        owned = await agents.of_organization(tx, organization.id, limit=AGENTS_SHOWN)
        if (organization.role or Role.VIEWER) < Role.ADMIN:
            return organization, owned, ()
        own, _ = await agents.oldest_of_developer(tx, person.developer.id, OWN_OFFERED)
        return organization, owned, own

    organization, owned, own = await db.read(reading)
    return organization_page(
        request,
        "agents.html",
        person,
        organization,
        form,
        status=status,
        section="/agents",
        agents=owned,
        own=[(agent.did, agent.name) for agent in own if agent.status == "active"],
        is_cut=len(owned) == AGENTS_SHOWN,
    )
