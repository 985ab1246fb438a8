"""The balance proof of an own agent: shown, downloaded, and led to the page that verifies it."""

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, JSONResponse, Response

from hansa.doors.console.access import SignedIn, SignedInPerson
from hansa.doors.console.api_acts import API
from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.web.in_process import InnerAnswer, InnerCall, call_within
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute

from .pages import READS, MyDid, agent_page, as_reader, own_agent

router = APIRouter(
    include_in_schema=False, default_response_class=HTMLResponse, route_class=LazyRoute, dependencies=READS
)

PROOF = f"{API}/teg/balance/proof"


@router.get("/account/agents/{did}/wallet/proof")
async def show_proof(
    did: MyDid, person: SignedInPerson, request: Request, db: Db, settings: Config
) -> HTMLResponse:
    """The proof that the newest audit cycle counts the whole balance of an own agent, or why there is none."""
    agent = await own_agent(db, person, did)
    answer = await _proof(request, did, person)
    return agent_page(
        request,
        "wallet/proof.html",
        person,
        agent,
        proof=None if answer.is_refusal else answer.content,
        reason=answer.content["detail"] if answer.is_refusal else "",
        currency=settings.settlement_currency,
    )


@router.get("/account/agents/{did}/wallet/proof.json")
async def download_proof(did: MyDid, person: SignedInPerson, request: Request, db: Db) -> Response:
    """The same proof as a file; a refusal is that of the API."""
    await own_agent(db, person, did)
    answer = await _proof(request, did, person)
    headers = {"Cache-Control": "no-store", "Vary": "Cookie"}
    if answer.is_refusal:
        return JSONResponse(answer.content, answer.status, headers, media_type="application/problem+json")
    return JSONResponse(
        answer.content,
        headers={**headers, "Content-Disposition": 'attachment; filename="balance-proof.json"'},
    )


async def _proof(request: Request, did: str, person: SignedIn) -> InnerAnswer:
    return await call_within(request, InnerCall("GET", PROOF), as_reader(did, person))
