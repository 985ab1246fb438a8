"""Home of an organization: what waits for the member, its treasury, and the newest movements of it."""

import msgspec
from fastapi import Request
from fastapi.responses import HTMLResponse

from hansa.doors.console.access import SignedInPerson
from hansa.doors.console.account.home_page import (
    DAYS_OF_LINE,
    DAYS_OF_WEEK,
    MOVEMENTS_SHOWN,
    Moved,
    movements_of,
)
from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import ledger, organizations
from hansa.rooms.organizations import Organization

from .pages import Key, held, organization_page, organization_router
from .requests_in_words import sentence_of

router = organization_router()

REQUESTS_SHOWN = 20


class Read(msgspec.Struct, frozen=True):
    """Content of the page."""

    organization: Organization
    portfolio: ledger.Portfolio
    movements: list[Moved]
    waiting: list[organizations.WaitingRequest]


@router.get("")
async def show_home(
    organization_id: Key, person: SignedInPerson, request: Request, db: Db, settings: Config
) -> HTMLResponse:
    """Requests that wait for the member, the treasury and its newest movements."""

    async def reading(tx: Tx) -> Read:
        organization = await held(tx, person, organization_id)
        dids = [organization.treasury_did]
        portfolio = await ledger.read_portfolio(tx, dids, days=DAYS_OF_LINE, newest=MOVEMENTS_SHOWN)
        return Read(
            organization,
            portfolio,
            await movements_of(tx, settings, portfolio, dids),
            await organizations.waiting_for_person(tx, person.developer.id, REQUESTS_SHOWN, organization.id),
        )

    read = await db.read(reading)
    return organization_page(
        request,
        "home.html",
        person,
        read.organization,
        balance=read.portfolio.balances.get(read.organization.treasury_did),
        week=read.portfolio.moved(DAYS_OF_WEEK),
        movements=read.movements,
        waiting=[
            (one, sentence_of(one.kind, one.body, {}, settings.settlement_currency)) for one in read.waiting
        ],
        currency=settings.settlement_currency,
    )
