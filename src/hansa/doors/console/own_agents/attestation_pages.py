"""Attestations of an own agent by zero-knowledge proofs, which its owner revokes."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import Act, SentForm, SignedIn, SignedInPerson, see_other
from hansa.foundation.plumbing.process.runtime import Db
from hansa.foundation.plumbing.storage.database import Database
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.rooms import agents, proofs

from .acting import act_as
from .pages import ACTS, READS, SHOWN, MyDid, address_of, agent_page, own_agent

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse, route_class=LazyRoute)

PAGE = "attestations"
Before = Annotated[int | None, Query(ge=1, le=2**63 - 1)]


@router.get("/account/agents/{did}/attestations", dependencies=READS)
async def show_attestations(
    did: MyDid, person: SignedInPerson, request: Request, db: Db, *, before: Before = None
) -> HTMLResponse:
    """The attestations of an own agent, the newest first."""
    agent = await own_agent(db, person, did)
    return await _page(request, person, agent, db, before=before)


@router.post("/account/agents/{did}/attestations/{attestation}/revoke", dependencies=ACTS)
async def revoke_attestation(
    did: MyDid, attestation: UUID, sender: Act, request: Request, db: Db
) -> Response:
    """Revoke an attestation of an own agent for good."""
    agent = await own_agent(db, sender.person, did)
    answer = await act_as(request, sender, did, f"/attestations/{attestation}/revoke", {})
    if answer.is_refused:
        refused = answer.on(sender.form)
        return await _page(request, sender.person, agent, db, refused, status=answer.status)
    return see_other(address_of(did, PAGE, "revoked"))


async def _page(
    request: Request,
    person: SignedIn,
    agent: agents.OwnedAgent,
    db: Database,
    form: SentForm | None = None,
    *,
    before: int | None = None,
    status: int = 200,
) -> HTMLResponse:
    found = await db.read(lambda tx: proofs.attestations_of(tx, agent.did, before, SHOWN + 1))
    return agent_page(
        request,
        "own_agents/attestations.html",
        person,
        agent,
        form,
        status=status,
        attestations=found[:SHOWN],
        following=found[SHOWN - 1].seq if len(found) > SHOWN else None,
    )
