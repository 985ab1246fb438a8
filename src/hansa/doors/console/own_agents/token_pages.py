"""The payment tokens of an own agent: until when each can be used, its outcome, settling one and giving one up."""

from uuid import UUID

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import Act, SentForm, SignedIn, SignedInPerson, see_other
from hansa.doors.console.access.forms import with_decimal_point
from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.rooms import agents, commerce

from .acting import act_as
from .pages import ACTS, READS, MyDid, address_of, agent_page, own_agent

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse, route_class=LazyRoute)

TOKENS_SHOWN = 50


@router.get("/account/agents/{did}/wallet/tokens", dependencies=READS)
async def show_tokens(
    did: MyDid, person: SignedInPerson, request: Request, db: Db, settings: Config
) -> HTMLResponse:
    """The newest tokens that an own agent authorized, and those that pay it; no token itself is shown."""
    agent = await own_agent(db, person, did)
    return await _page(request, person, agent, SentForm(), db, settings=settings)


@router.post("/account/agents/{did}/wallet/tokens/{token_id:uuid}/release", dependencies=ACTS)
async def release_token(
    did: MyDid, token_id: UUID, sender: Act, request: Request, db: Db, *, settings: Config
) -> Response:
    """Give up a token that is not used; nothing is paid."""
    agent = await own_agent(db, sender.person, did)
    answer = await act_as(request, sender, did, f"/a2a-payment/release-by-id/{token_id}")
    if answer.is_refused:
        refused = answer.on(sender.form)
        return await _page(
            request, sender.person, agent, refused, db, settings=settings, status=answer.status
        )
    return see_other(address_of(did, "wallet/tokens", "released"))


@router.post("/account/agents/{did}/wallet/tokens/settle", dependencies=ACTS)
async def settle_token(did: MyDid, sender: Act, request: Request, db: Db, *, settings: Config) -> Response:
    """Settle a token that this agent authorized, or that pays it; the payment runs after the answer."""
    agent = await own_agent(db, sender.person, did)
    body = {"token": sender.form.value("payment_token").strip()}
    if amount := with_decimal_point(sender.form.value("capture_amount").strip()):
        body["capture_amount"] = amount
    answer = await act_as(request, sender, did, "/a2a-payment/settle", body)
    if answer.is_refused:
        refused = answer.on(sender.form, token="payment_token")  # noqa: S106
        return await _page(
            request, sender.person, agent, refused, db, settings=settings, status=answer.status
        )
    return see_other(address_of(did, "wallet/tokens", "settled"))


async def _page(
    request: Request,
    person: SignedIn,
    agent: agents.OwnedAgent,
    form: SentForm,
    db: Database,
    *,
    settings: Settings,
    status: int = 200,
) -> HTMLResponse:
    async def reading(tx: Tx) -> dict[str, list[commerce.Token]]:
        return {
            side: list(
                await commerce.list_tokens(
                    tx, agent.did, is_payee=side == "received", status=None, limit=TOKENS_SHOWN
                )
            )
            for side in ("authorized", "received")
        }

    tokens = await db.read(reading)
    return agent_page(
        request,
        "wallet/tokens.html",
        person,
        agent,
        form,
        status=status,
        tokens=tokens,
        shown_at_most=TOKENS_SHOWN,
        currency=settings.settlement_currency,
    )
