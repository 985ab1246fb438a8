"""Home of an organization: its treasury and the newest movements of it. The page of the treasury has its course."""

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
    portfolio_plot,
)
from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import ledger
from hansa.rooms.organizations import Organization

from .pages import Key, held, organization_page, organization_router

router = organization_router()


class Read(msgspec.Struct, frozen=True):
    """Content of the page."""

    organization: Organization
    portfolio: ledger.Portfolio
    movements: list[Moved]


@router.get("")
async def show_home(
    organization_id: Key, person: SignedInPerson, request: Request, db: Db, settings: Config
) -> HTMLResponse:
    """The treasury and its newest movements."""

    async def reading(tx: Tx) -> Read:
        organization = await held(tx, person, organization_id)
        dids = [organization.treasury_did]
        portfolio = await ledger.read_portfolio(tx, dids, days=DAYS_OF_LINE, newest=MOVEMENTS_SHOWN)
        return Read(organization, portfolio, await movements_of(tx, settings, portfolio, dids))

    read = await db.read(reading)
    return organization_page(
        request,
        "home.html",
        person,
        read.organization,
        balance=read.portfolio.balances.get(read.organization.treasury_did),
        week=read.portfolio.moved(DAYS_OF_WEEK),
        movements=read.movements,
        currency=settings.settlement_currency,
    )


@router.get("/treasury")
async def show_treasury(
    organization_id: Key, person: SignedInPerson, request: Request, db: Db, settings: Config
) -> HTMLResponse:
    """The balance of the treasury and its course."""

    async def reading(tx: Tx) -> Read:
        organization = await held(tx, person, organization_id)
        dids = [organization.treasury_did]
        return Read(organization, await ledger.read_portfolio(tx, dids, days=DAYS_OF_LINE, newest=1), [])

    read = await db.read(reading)
    currency = settings.settlement_currency
    return organization_page(
        request,
        "treasury.html",
        person,
        read.organization,
        section="/treasury",
        balance=read.portfolio.balances.get(read.organization.treasury_did),
        plot=portfolio_plot(read.portfolio, currency),
        currency=currency,
    )
