"""Treasuries over HTTP."""

from contextlib import suppress
from typing import Annotated

from fastapi import APIRouter, Header, Path, Query, Request, Response

from hansa.foundation.plumbing.process.runtime import Config, Db, runtime_of
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.bodies import BodyInvalid, GuardedRoute
from hansa.foundation.plumbing.web.caller import (
    CurrentAgent,
    Developer,
    developer_acting,
    developer_holding,
)
from hansa.foundation.plumbing.web.idempotency import (
    IdempotencyKey,
    KeyInProgress,
    KeyReused,
    Repeatable,
    once,
)
from hansa.foundation.plumbing.web.lazy_routes import include
from hansa.foundation.plumbing.web.limits import WriteLimit
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import Invalid, TooManyRequests, Unauthorized
from hansa.foundation.values.money import parse_positive
from hansa.rooms import commerce, federation, ledger, organizations, transfers
from hansa.rooms.organizations import (
    ACCEPTED,
    WAITS,
    Acting,
    OrganizationRequestOut,
    Reading,
    Sent,
    answer_of,
    status_of,
)

from .budget_routes import router as budget_router
from .control.ruling import put_rules
from .draws import draw
from .errors import (
    BudgetExceeded,
    BudgetOfOthers,
    BudgetUnknown,
    ContractNotFunded,
    InArrears,
    RulesInvalid,
    TreasuryDayLimit,
    TreasuryPayeeNotAllowed,
)
from .payments.asking import NewPayment, ask_for_contract, ask_for_payment
from .reading import transactions_of, treasury_of
from .schemas import (
    OrganizationTreasuryOut,
    TreasuryDrawIn,
    TreasuryDrawOut,
    TreasuryRequestIn,
    TreasuryRulesIn,
    TreasuryRulesOut,
)

EVERY_REQUEST = (
    Unauthorized,
    organizations.OrganizationUnknown,
    organizations.OrganizationNotActive,
    organizations.OrgRoleRequired,
    organizations.LimitReached,
    Invalid,
    BodyInvalid,
)
CREATED = 201

drawing_router = APIRouter(prefix="/organizations/treasury", tags=["organizations"], route_class=GuardedRoute)
router = APIRouter(
    prefix="/organizations/{organization_id}/treasury", tags=["organizations"], route_class=GuardedRoute
)
include(router, budget_router)

Key = Annotated[str, Path(max_length=64)]
ReadingDeveloper = Annotated[Developer, developer_holding("orgs:read")]
WritingDeveloper = Annotated[Developer, developer_acting("orgs:write")]


@drawing_router.post(
    "/draw",
    response_model=TreasuryDrawOut,
    responses=problems(
        Unauthorized,
        BudgetUnknown,
        BudgetExceeded,
        TreasuryDayLimit,
        InArrears,
        organizations.OrganizationNotActive,
        ledger.InsufficientBalance,
        ledger.AccountSuspended,
        KeyReused,
        KeyInProgress,
        TooManyRequests,
        Invalid,
        BodyInvalid,
    ),
)
async def draw_from_budget(
    body: TreasuryDrawIn,
    agent: CurrentAgent,
    *,
    db: Db,
    http: Request,
    writes: WriteLimit,
    key: IdempotencyKey = None,
) -> Response:
    """Draw units from the treasury of the agent's organization, within the agent's budget. The treasury pays the fee on top."""
    await writes.admit(agent.did)
    request = (
        None
        if key is None
        else Repeatable(agent.did, "/organizations/treasury/draw", key, body.model_dump(mode="json"))
    )

    async def drawn(tx: Tx) -> TreasuryDrawOut:
        return TreasuryDrawOut.of(await draw(tx, agent, parse_positive(body.amount), runtime_of(http)))

    return await once(db, request, drawn)


@router.get("", responses=problems(Unauthorized, organizations.OrganizationUnknown, Invalid))
async def read_treasury(organization_id: Key, developer: ReadingDeveloper, db: Db) -> OrganizationTreasuryOut:
    """The treasury of an own organization: balances, rules, budgets, and the sum of the payments of this UTC day."""
    found = await db.read(lambda tx: treasury_of(tx, developer, organization_id))
    return OrganizationTreasuryOut.of(found)


@router.get(
    "/transactions",
    response_model=ledger.Statement,
    responses={
        200: {"content": {ledger.CSV: {"schema": {"type": "string"}}}},
        **problems(Unauthorized, organizations.OrganizationUnknown, Invalid),
    },
)
async def read_treasury_transactions(
    organization_id: Key,
    developer: ReadingDeveloper,
    db: Db,
    config: Config,
    *,
    query: Annotated[ledger.StatementQuery, Query()],
    accept: Annotated[str, Header()] = "",
) -> ledger.Statement | Response:
    """The transactions of the treasury, newest first; as CSV with `format=csv` or `Accept: text/csv`."""
    wanted = query.statement_filter()
    lines, total = await db.read(lambda tx: transactions_of(tx, developer, organization_id, wanted))
    return ledger.statement_answer(query, accept, lines, total, currency=config.settlement_currency)


@router.put(
    "/rules",
    response_model=TreasuryRulesOut,
    responses=WAITS
    | problems(*EVERY_REQUEST, organizations.TeamUnknown, organizations.RequestExists, RulesInvalid),
)
async def put_treasury_rules(
    organization_id: Key, body: TreasuryRulesIn, developer: WritingDeveloper, db: Db, http: Request
) -> Response:
    """Replace the rules. Rules that are not tighter in every member need the approvals of the highest tier."""
    acting = Acting.by(runtime_of(http), developer)
    written = await db.transaction(lambda tx: put_rules(tx, acting, organization_id, body.stated()))
    return answer_of(
        OrganizationRequestOut.of(written) if isinstance(written, Reading) else TreasuryRulesOut.of(written)
    )


@router.post(
    "/requests",
    status_code=CREATED,
    response_model=OrganizationRequestOut,
    responses=problems(
        *EVERY_REQUEST,
        KeyReused,
        KeyInProgress,
        BudgetUnknown,
        BudgetOfOthers,
        BudgetExceeded,
        InArrears,
        TreasuryDayLimit,
        TreasuryPayeeNotAllowed,
        ContractNotFunded,
        ledger.InsufficientBalance,
        ledger.AccountUnknown,
        ledger.AccountSuspended,
        ledger.SystemAccountRefused,
        ledger.SelfTransfer,
        *transfers.CROSSING_REFUSALS,
        commerce.ProviderUnknown,
        commerce.FundedAcross,
        commerce.SelfContract,
        commerce.TermsInvalid,
        commerce.TooManyProposals,
    ),
)
async def create_request(organization_id: Key, body: TreasuryRequestIn, sent: Sent, db: Db) -> Response:
    """Pay from the treasury, or propose a funded contract: at once below every tier or within a budget, else after approvals."""

    async def asked(tx: Tx) -> OrganizationRequestOut:
        return OrganizationRequestOut.of(await _asked(tx, sent.acting, organization_id, body))

    try:
        answer = await sent.answer(db, asked, body, status=CREATED)
    except (ledger.AccountUnknown, commerce.ProviderUnknown):
        # Within one trust domain the DID does not say at which registry the agent is.
        if not await transfers.is_elsewhere(sent.runtime, body.receiver):
            raise
        return await sent.answer(db, asked, body, status=CREATED)
    if status_of(answer.body) == ACCEPTED:
        with suppress(federation.FrameUnavailable):
            await transfers.is_elsewhere(sent.runtime, body.receiver)
    return answer


async def _asked(tx: Tx, acting: Acting, key: str, body: TreasuryRequestIn) -> Reading:
    if body.contract is not None:
        return await ask_for_contract(tx, acting, key, body.contract.model_dump(mode="json"), body.note)
    amount = parse_positive(body.amount or "")
    new = NewPayment(body.receiver, amount, body.message, body.budget_id, body.note)
    return await ask_for_payment(tx, acting, key, new)
