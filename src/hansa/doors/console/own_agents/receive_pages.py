"""Receive units: the identity of an own agent and a link that asks for an amount; anybody opens it as the payer."""

from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, Response
from markupsafe import Markup

from hansa.doors.console.access import SignedInPerson, account_page, see_other
from hansa.doors.console.access.forms import with_decimal_point
from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.foundation.values.did import DID_MAX_CHARACTERS
from hansa.rooms import people

from .call_pages import payers_of
from .pages import READS, MyDid, address_of, agent_page, own_agent

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse, route_class=LazyRoute)

SEND_PAGE = "/account/send"
AMOUNT_MAX, MEMO_MAX, QR_MAX_BYTES = 40, 256, 2000
Receiver = Annotated[str, Query(max_length=DID_MAX_CHARACTERS)]
Amount = Annotated[str, Query(max_length=AMOUNT_MAX)]
Memo = Annotated[str, Query(max_length=MEMO_MAX)]


@router.get("/account/agents/{did}/wallet/receive", dependencies=READS)
async def show_receive(
    did: MyDid,
    person: SignedInPerson,
    request: Request,
    db: Db,
    settings: Config,
    *,
    amount: Amount = "",
    memo: Memo = "",
) -> HTMLResponse:
    """The DID of an own agent, and the link by which it is paid."""
    agent = await own_agent(db, person, did)
    asked = {"receiver": did, "amount": with_decimal_point(amount.strip()), "memo": memo.strip()}
    link = f"{settings.base_url}{SEND_PAGE}?{_query(asked)}"
    # Made here of the address alone, which has no other than ASCII characters.
    picture = Markup(people.qr_svg(link)) if len(link) <= QR_MAX_BYTES else None  # noqa: S704
    return agent_page(
        request,
        "wallet/receive.html",
        person,
        agent,
        link=link,
        picture=picture,
        amount=asked["amount"],
        memo=asked["memo"],
        currency=settings.settlement_currency,
    )


@router.get(SEND_PAGE, dependencies=READS)
async def choose_payer(
    person: SignedInPerson,
    request: Request,
    db: Db,
    settings: Config,
    *,
    receiver: Receiver = "",
    amount: Amount = "",
    memo: Memo = "",
) -> Response:
    """The own agents that can pay, each with the filled-in form of a transfer; a single one leads there at once."""
    payers = await db.read(lambda tx: payers_of(tx, person))
    asked = _query({"receiver": receiver, "amount": amount, "memo": memo})
    links = [(one, f"{address_of(one.agent.did, 'wallet/send')}?{asked}") for one in payers]
    if len(links) == 1:
        return see_other(links[0][1])
    return account_page(
        request,
        "wallet/payer.html",
        person,
        section="/account/wallets",
        links=links,
        receiver=receiver,
        amount=amount,
        currency=settings.settlement_currency,
    )


def _query(asked: dict[str, str]) -> str:
    return urlencode({name: value for name, value in asked.items() if value})
