"""The wallet of an own agent: its holdings, the amounts set aside, and its statement."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import SignedInPerson, account_page
from hansa.doors.console.plots import Plot
from hansa.doors.console.rendering import grouped
from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.foundation.values.money import Minor, format_amount
from hansa.rooms import agents, ledger, reputation

from .pages import READS, MyDid, agent_page, own_agent

router = APIRouter(
    include_in_schema=False, default_response_class=HTMLResponse, route_class=LazyRoute, dependencies=READS
)

POINTS_SHOWN = 200
LINES_SHOWN = 10
LINES_OF_PAGE = 100
LINES_OF_FILE = 1000
HOLDS_SHOWN = 50
WALLETS_SHOWN = 100

Offset = Annotated[int, Query(ge=0, le=10**9)]
Before = Annotated[int | None, Query(ge=1, le=2**63 - 1)]


@router.get("/account/wallets")
async def show_wallets(
    person: SignedInPerson, request: Request, db: Db, settings: Config, *, offset: Offset = 0
) -> HTMLResponse:
    """The own agents, the oldest first, each with its liquid balance."""

    async def reading(tx: Tx) -> tuple[list[tuple[agents.OwnedAgent, ledger.Balance]], int]:
        owned, total = await agents.page_of_developer(
            tx, person.developer.id, limit=WALLETS_SHOWN, offset=offset
        )
        balances = await ledger.balances_of(tx, [agent.did for agent in owned])
        return [(agent, balances[agent.did]) for agent in owned], total

    wallets, total = await db.read(reading)
    return account_page(
        request,
        "wallet/list.html",
        person,
        wallets=wallets,
        total=total,
        offset=offset,
        shown_at_most=WALLETS_SHOWN,
        currency=settings.settlement_currency,
    )


@router.get("/account/agents/{did}/wallet")
async def show_wallet(
    did: MyDid, person: SignedInPerson, request: Request, db: Db, settings: Config
) -> HTMLResponse:
    """Show the holdings of an own agent now and over time, and the amounts set aside."""
    agent = await own_agent(db, person, did)

    async def reading(tx: Tx) -> tuple[ledger.Wallet, list[ledger.Line]]:
        return await ledger.read_wallet(tx, did, HOLDS_SHOWN), await ledger.newest_lines(
            tx, did, POINTS_SHOWN
        )

    wallet, newest = await db.read(reading)
    held = wallet.holdings
    currency = settings.settlement_currency
    return agent_page(
        request,
        "wallet/wallet.html",
        person,
        agent,
        wallet=wallet,
        total=Minor(held.liquid + held.staked + held.escrow),
        bond=wallet.held_for(reputation.BOND_HOLD),
        lines=newest[:LINES_SHOWN],
        currency=currency,
        plot=_plot(newest, currency),
    )


@router.get("/account/agents/{did}/wallet/statement")
async def show_statement(
    did: MyDid,
    person: SignedInPerson,
    request: Request,
    db: Db,
    settings: Config,
    *,
    before: Before = None,
) -> HTMLResponse:
    """A page of the statement, newest first, with the balance after each transaction."""
    agent = await own_agent(db, person, did)
    query = ledger.StatementFilter(LINES_OF_PAGE, before=before)
    lines, total = await db.read(lambda tx: ledger.lines_of(tx, did, query))
    return agent_page(
        request,
        "wallet/statement.html",
        person,
        agent,
        lines=lines,
        total=total,
        before=before,
        older=lines[-1].tx_id if len(lines) == LINES_OF_PAGE else None,
        lines_of_file=LINES_OF_FILE,
        currency=settings.settlement_currency,
    )


@router.get("/account/agents/{did}/wallet/statement.csv")
async def download_statement(
    did: MyDid, person: SignedInPerson, db: Db, *, before: Before = None
) -> Response:
    """The statement as CSV, at most 1000 transactions."""
    await own_agent(db, person, did)
    query = ledger.StatementFilter(LINES_OF_FILE, before=before)
    lines, _ = await db.read(lambda tx: ledger.lines_of(tx, did, query))
    return Response(
        ledger.as_csv(lines),
        media_type="text/csv",
        headers={
            "Content-Disposition": 'attachment; filename="statement.csv"',
            "Cache-Control": "no-store",
            "Vary": "Cookie",
        },
    )


def _plot(newest: Sequence[ledger.Line], currency: str) -> Plot | None:
    """The liquid balance after each of the newest transactions."""
    if not newest:
        return None
    lines = list(reversed(newest))
    return Plot(
        "Liquid balance",
        [(f"{line.recorded_at:%Y-%m-%d %H:%M}", line.balance_after) for line in lines],
        [f"{grouped(format_amount(Minor(line.balance_after)))} {currency}" for line in lines],
        [line.recorded_at.timestamp() for line in lines],
    )
