"""The wallets of an own agent: keys of other software whose signatures pay from its account (x402), bound and unbound."""

from urllib.parse import quote

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import Act, Acting, SentForm, SignedIn, SignedInPerson, see_other
from hansa.doors.console.api_acts import ApiAnswer
from hansa.foundation.plumbing.process.runtime import Db
from hansa.foundation.plumbing.storage.database import Database
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.rooms import agents

from .acting import act_as
from .pages import ACTS, READS, MyDid, address_of, agent_page, own_agent

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse, route_class=LazyRoute)

PAGE = "wallet/x402"
ROUTE = f"/account/agents/{{did}}/{PAGE}"
WALLETS = "/agents/me/wallets"
# Refusals that are about one field and do not name it.
FIELD_OF_CODE = {"WALLET_ADDRESS_MALFORMED": "address", "WALLET_SIGNATURE_REFUSED": "signature"}


@router.get(ROUTE, dependencies=READS)
async def show_bound_wallets(did: MyDid, person: SignedInPerson, request: Request, db: Db) -> HTMLResponse:
    """The wallets that are bound to an own agent, and the address by which wallets pay it."""
    agent = await own_agent(db, person, did)
    return await _page(request, person, agent, SentForm(), db)


@router.post(f"{ROUTE}/challenge", dependencies=ACTS)
async def request_challenge(did: MyDid, sender: Act, request: Request, db: Db) -> HTMLResponse:
    """The text that a wallet signs to be bound. Nothing is bound."""
    agent = await own_agent(db, sender.person, did)
    address = sender.form.value("address").strip()
    answer = await act_as(request, sender, did, f"{WALLETS}/challenge", {"address": address})
    if answer.is_refused:
        refused = _refused(sender.form, answer)
        return await _page(request, sender.person, agent, refused, db, status=answer.status)
    return _challenge_page(
        request, sender, agent, SentForm([("address", address)]), answer.document["challenge"]
    )


@router.post(ROUTE, dependencies=ACTS)
async def bind_wallet(did: MyDid, sender: Act, request: Request, db: Db) -> Response:
    """Bind the wallet that signed the challenge. A refused signature leaves the challenge usable."""
    agent, form = await own_agent(db, sender.person, did), sender.form
    # A browser sends each line break of a field as two characters.
    challenge = form.value("challenge").replace("\r\n", "\n")
    body = {
        "address": form.value("address").strip(),
        "challenge": challenge,
        "signature": form.value("signature").strip(),
    }
    answer = await act_as(request, sender, did, WALLETS, body)
    if not answer.is_refused:
        return see_other(address_of(did, PAGE, "bound"))
    refused = _refused(form, answer)
    if "signature" in refused.errors:
        return _challenge_page(request, sender, agent, refused, challenge, status=answer.status)
    return await _page(request, sender.person, agent, refused, db, status=answer.status)


@router.post(f"{ROUTE}/unbind", dependencies=ACTS)
async def unbind_wallet(did: MyDid, sender: Act, request: Request, db: Db) -> Response:
    """Unbind a wallet: its signatures pay no longer."""
    agent = await own_agent(db, sender.person, did)
    address = quote(sender.form.value("address").strip() or "-", safe="")
    answer = await act_as(request, sender, did, f"{WALLETS}/{address}", method="DELETE")
    if answer.is_refused:
        refused = _refused(sender.form, answer)
        return await _page(request, sender.person, agent, refused, db, status=answer.status)
    return see_other(address_of(did, PAGE, "unbound"))


def _refused(form: SentForm, answer: ApiAnswer) -> SentForm:
    refused = answer.on(form)
    if field := FIELD_OF_CODE.get(answer.code):
        return SentForm(form.fields, {field: answer.document["detail"]}, refused.message)
    return refused


def _challenge_page(
    request: Request,
    sender: Acting,
    agent: agents.OwnedAgent,
    form: SentForm,
    challenge: str,
    *,
    status: int = 200,
) -> HTMLResponse:
    return agent_page(
        request,
        "wallet/x402-challenge.html",
        sender.person,
        agent,
        form,
        status=status,
        challenge=challenge,
    )


async def _page(
    request: Request,
    person: SignedIn,
    agent: agents.OwnedAgent,
    form: SentForm,
    db: Database,
    *,
    status: int = 200,
) -> HTMLResponse:
    wallets = await db.read(lambda tx: agents.own_wallets(tx, agent.did))
    return agent_page(
        request,
        "wallet/x402.html",
        person,
        agent,
        form,
        status=status,
        bound=agents.WalletsOut.of(agent.did, wallets),
    )
