"""Payments of an own agent that wait for its owner."""

from uuid import UUID

from fastapi import Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import Act, Acting, SentForm, SignedIn, SignedInPerson, see_other
from hansa.foundation.plumbing.process.runtime import Db, runtime_of
from hansa.foundation.values.errors import Refused
from hansa.rooms import agents

from .approved import Listed
from .pages import MyDid, agent_page, own_agent, path_of, settings_router

router = settings_router()

APPROVALS_SHOWN = 100


@router.get("/approvals")
async def show_approvals(did: MyDid, person: SignedInPerson, request: Request, db: Db) -> HTMLResponse:
    """The payments that wait, and those that were decided, the newest first."""
    return await _approvals(request, person, db, did)


@router.post("/approvals/{approval_id:uuid}/approve")
async def approve(did: MyDid, approval_id: UUID, sender: Act, request: Request, db: Db) -> Response:
    """Approve one payment, once."""
    return await _decide(request, sender, db, did, approval_id=approval_id, is_approved=True)


@router.post("/approvals/{approval_id:uuid}/deny")
async def deny(did: MyDid, approval_id: UUID, sender: Act, request: Request, db: Db) -> Response:
    """Deny one payment."""
    return await _decide(request, sender, db, did, approval_id=approval_id, is_approved=False)


async def _decide(
    request: Request,
    sender: Acting,
    db: Db,
    did: str,
    *,
    approval_id: UUID,
    is_approved: bool,
) -> Response:
    person = sender.person
    try:
        await db.transaction(
            lambda tx: agents.decide_approval(
                tx, person.developer, did, approval_id, is_approved=is_approved, in_browser=True
            )
        )
    except Refused as refusal:
        refused = sender.form.refused(refusal)
        return await _approvals(request, person, db, did, refused, status=refusal.status)
    return see_other(f"{path_of(did)}/approvals?done={'approved' if is_approved else 'denied'}")


async def _approvals(
    request: Request,
    person: SignedIn,
    db: Db,
    did: str,
    form: SentForm | None = None,
    *,
    status: int = 200,
) -> HTMLResponse:
    agent = await own_agent(db, person, did)
    found, total = await db.read(
        lambda tx: agents.approvals_of(tx, person.developer, did, None, limit=APPROVALS_SHOWN, offset=0)
    )
    currency = runtime_of(request).settings.settlement_currency
    return agent_page(
        request,
        "own_agents/approvals.html",
        person,
        agent,
        form,
        status=status,
        listed=[Listed.of(did, one, currency) for one in found],
        total=total,
        done=request.query_params.get("done", ""),
    )
