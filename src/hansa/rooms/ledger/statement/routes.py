"""HTTP doors of statements and fees."""

from typing import Annotated

from fastapi import APIRouter, Depends, Header, Query
from fastapi.responses import Response

from hansa.foundation.plumbing import parameters
from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.web.bodies import GuardedRoute
from hansa.foundation.plumbing.web.caller import CurrentAgent, Public
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import Invalid, TooManyRequests, Unauthorized
from hansa.foundation.values.money import format_amount
from hansa.rooms.ledger.book import Book

from . import reading
from .records import Line
from .schemas import FeeConfig, Fees, Statement, StatementQuery

CSV = "text/csv"

router = APIRouter(route_class=GuardedRoute)


@router.get(
    "/teg/transactions",
    response_model=Statement,
    responses={
        200: {"content": {CSV: {"schema": {"type": "string"}}}},
        **problems(Unauthorized, Invalid),
    },
)
async def read_own_transactions(
    agent: CurrentAgent,
    db: Db,
    settings: Config,
    query: Annotated[StatementQuery, Query()],
    accept: Annotated[str, Header()] = "",
) -> Statement | Response:
    """The calling agent's transactions, newest first; as CSV with `format=csv` or `Accept: text/csv`."""
    statement_filter = query.statement_filter()
    lines, total = await db.read(lambda tx: reading.lines_of(tx, agent.did, statement_filter))
    return statement_answer(query, accept, lines, total, currency=settings.settlement_currency)


def statement_answer(
    query: StatementQuery, accept: str, lines: list[Line], total: int, *, currency: str
) -> Statement | Response:
    """The page as JSON, or as CSV where the query or the Accept header asks for it."""
    if query.format == "csv" or (query.format is None and accept.startswith(CSV)):
        return Response(reading.as_csv(lines), media_type=CSV)
    return Statement.of(lines, total, query.statement_filter(), currency)


@router.get(
    "/teg/fees/config", responses=problems(TooManyRequests), dependencies=[Depends(within_read_limit)]
)
async def read_fee_config(_: Public, settings: parameters.InForce) -> FeeConfig:
    """The formula of the transfer fee."""
    return FeeConfig.of(Book.of(settings))


@router.get("/teg/fees", responses=problems(TooManyRequests), dependencies=[Depends(within_read_limit)])
async def read_fees(_: Public, db: Db, settings: parameters.InForce) -> Fees:
    """The fee formula, and the fees collected."""
    book = Book.of(settings)
    config = FeeConfig.of(book)
    collected = await db.query(lambda tx: reading.fees_collected(tx, book.fee_collector))
    return Fees(**config.model_dump(), collected=format_amount(collected))
