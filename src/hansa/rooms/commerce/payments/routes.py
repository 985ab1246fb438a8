"""Payments for calls over HTTP."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Header, Path, Query, Request
from fastapi.responses import Response

from hansa.foundation.plumbing.process.runtime import Config, Db, Sealing, runtime_of
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.bodies import GuardedRoute, JsonText
from hansa.foundation.plumbing.web.caller import (
    CAPABILITY_HEADER,
    Agent,
    AgentToJudge,
    ComparedAgent,
    CurrentAgent,
    PermissionMissing,
    Public,
    agent_holding,
    agent_to_judge,
)
from hansa.foundation.plumbing.web.changed_caller import confirm_caller
from hansa.foundation.plumbing.web.direct import DirectRoute
from hansa.foundation.plumbing.web.idempotency import (
    IdempotencyKey,
    KeyInProgress,
    KeyReused,
    Repeatable,
    answer_once,
    once,
    recall,
    remember,
)
from hansa.foundation.plumbing.web.limits import WriteLimit
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.plumbing.web.sealed_answers import StoredAnswerUnreadable
from hansa.foundation.values.did import DID_MAX_CHARACTERS
from hansa.foundation.values.errors import (
    Invalid,
    Refused,
    TooManyRequests,
    Unauthorized,
    Unavailable,
)
from hansa.foundation.values.money import PositiveAmount, parse_positive
from hansa.rooms import agents, catalogue, federation, ledger, transfers

from . import errors
from .authorize import PERMISSION, require_payee
from .buy_schemas import QuoteOut
from .ending import release, release_by_id
from .noted_refusals import note_refusal, noting_refusals
from .payment_batch import PAYMENT_BATCH, PaymentBatch
from .preferences import WaitSeconds, applied
from .quote import FirmQuote, Quote, count_firm, quote, require_firm, sign_quote
from .reading import list_tokens
from .rules import Status
from .schemas import (
    AuthorizeIn,
    AuthorizeOut,
    PaymentVerifyIn,
    PaymentVerifyOut,
    ReleaseIn,
    ReleaseOut,
    SettleIn,
    SettleManyIn,
    SettleManyOut,
    SettleOut,
    TokenOut,
)
from .settle_request import authorize_alone, settle_alone, settle_at_once, settle_many
from .settlement_worker import SETTLEMENTS, Settlements
from .stored_answer import AuthorizeAnswer
from .verify import VERIFIER, Verifier

PREFIX = "/a2a-payment"
LISTED_DEFAULT, LISTED_MAX = 50, 200
CAPABILITY_MAX_CHARACTERS = 128

hot_router = APIRouter(prefix=PREFIX, tags=["payments"], route_class=DirectRoute)
router = APIRouter(prefix=PREFIX, tags=["payments"], route_class=GuardedRoute)


VerifierOfHere = Annotated[Verifier, Depends(VERIFIER.given)]
SignatoryOfHere = Annotated[federation.Signatory, Depends(federation.SIGNATORY.given)]
BatchOfHere = Annotated[PaymentBatch, Depends(PAYMENT_BATCH.given)]
SettlementsOfHere = Annotated[Settlements, Depends(SETTLEMENTS.given)]
PayingAgent = Annotated[Agent, agent_holding(PERMISSION, or_capability=True)]
AuthorizingAgent = Annotated[AgentToJudge, agent_to_judge(PERMISSION)]
CapabilityToken = Annotated[
    str | None,
    Header(
        alias=CAPABILITY_HEADER,
        max_length=CAPABILITY_MAX_CHARACTERS,
        description="The token of a capability, which can grant the permission; its caveats limit the payment.",
    ),
]
# What an agent meets that may not spend, or not so much.
SPENDING_REFUSALS: tuple[type[Refused], ...] = (
    PermissionMissing,
    ledger.SystemAccountRefused,
    ledger.AccountSuspended,
    *agents.PAYMENT_REFUSALS,
    transfers.ApprovalRequired,
    errors.PayeeNotAdmitted,
)


@hot_router.post(
    "/authorize",
    response_model=AuthorizeOut,
    responses=problems(
        errors.AmountNotPositive,
        errors.TargetMalformed,
        Unauthorized,
        ledger.InsufficientBalance,
        *SPENDING_REFUSALS,
        agents.ApprovalUnknown,
        agents.ApprovalUnusable,
        agents.ApprovalsPending,
        Invalid,
        errors.ReserveNotPossible,
        errors.QuoteUnreadable,
        errors.QuoteOfAnother,
        errors.QuoteMismatch,
        errors.QuoteExpired,
        errors.QuoteUsed,
        StoredAnswerUnreadable,
        KeyReused,
        KeyInProgress,
        TooManyRequests,
        errors.TooManyUnusedTokens,
        Unavailable,
    ),
)
async def authorize_payment(
    body: AuthorizeIn,
    asking: AuthorizingAgent,
    gathered: BatchOfHere,
    db: Db,
    config: Config,
    *,
    http: Request,
    seal: Sealing,
    writes: WriteLimit,
    key: IdempotencyKey = None,
    capability: CapabilityToken = None,
) -> Response:
    """Make a single-use token with which a service can be paid; it is shown once."""
    await writes.admit(asking.did)
    request = (
        Repeatable(asking.did, "/a2a-payment/authorize", key, body.model_dump(exclude={"approval_id"}))
        if key
        else None
    )
    answer = AuthorizeAnswer(body.order(), config, seal, request)
    # The specification judges the payee before the permission.
    require_payee(asking.did, answer.order.payee)
    agent = asking.permitted()
    outcome = None
    if body.quote_token is None:
        outcome = await gathered.authorize(agent, answer, capability)
    if outcome is None:
        await confirm_caller(http)
        outcome = await authorize_alone(
            db, agent, answer, capability_token=capability, quote_token=body.quote_token
        )
    return answer_once(outcome.text, replayed=outcome.replayed)


@hot_router.post("/verify", response_model=PaymentVerifyOut, responses=problems(Invalid, Unavailable))
async def verify_payment(
    body: PaymentVerifyIn, _: Public, verifier: VerifierOfHere, config: Config
) -> Response:
    """Whether a presented token is good; the first valid answer consumes it. The token authenticates itself."""
    order = body.order()
    verification = await verifier.verify(order)
    return JsonText(PaymentVerifyOut.json_of(verification, order, config.settlement_currency))


@hot_router.post(
    "/settle",
    response_model=SettleOut,
    responses=problems(
        errors.TokenStatus,
        errors.TokenExpired,
        Unauthorized,
        errors.NotTheCaller,
        errors.CapturedByPayee,
        errors.TokenUnknown,
        errors.SettlementInProgress,
        Invalid,
        errors.CaptureAmountRefused,
        TooManyRequests,
        Unavailable,
    ),
)
async def settle_payment(
    body: SettleIn,
    agent: ComparedAgent,
    db: Db,
    settlements: SettlementsOfHere,
    config: Config,
    *,
    http: Request,
    writes: WriteLimit,
    wait: WaitSeconds,
) -> Response:
    """Pay what a token is for; the transfer runs after the answer. With success false nothing is paid."""
    await writes.admit(agent.did)
    order, book = body.order_by(agent.did), ledger.Book.of(config)
    token = await settle_at_once(settlements, order, wait, agent.version)
    if token is None:
        await confirm_caller(http)
        with noting_refusals(runtime_of(http), agent.did):
            token = await settle_alone(db, settlements, order, book, wait)
    return JsonText(SettleOut.json_of(token, config.settlement_currency), applied(wait))


@hot_router.post(
    "/settle-many",
    response_model=SettleManyOut,
    responses=problems(Unauthorized, Invalid, TooManyRequests, Unavailable),
)
async def settle_payments(
    body: SettleManyIn,
    agent: CurrentAgent,
    db: Db,
    settlements: SettlementsOfHere,
    config: Config,
    *,
    http: Request,
    writes: WriteLimit,
    wait: WaitSeconds,
) -> Response:
    """As settle, of up to 500 tokens; a refused one is named in its line and hinders no other."""
    await writes.admit(agent.did)
    book = ledger.Book.of(config)
    outcomes = await settle_many(db, settlements, body.orders_by(agent.did), book, wait)
    for refusal in outcomes:
        if isinstance(refusal, Refused):
            note_refusal(runtime_of(http), agent.did, refusal)
    out = SettleManyOut.of(outcomes, config.settlement_currency)
    return JsonText(out.model_dump_json(), applied(wait))


RELEASE_REFUSALS = (
    errors.TokenStatus,
    Unauthorized,
    errors.NotTheCaller,
    errors.TokenUnknown,
    Invalid,
    TooManyRequests,
    Unavailable,
)


@router.post("/release", responses=problems(*RELEASE_REFUSALS))
async def release_payment(
    body: ReleaseIn,
    agent: CurrentAgent,
    gathered: BatchOfHere,
    db: Db,
    config: Config,
    *,
    writes: WriteLimit,
) -> ReleaseOut:
    """Give up a token that is not used; nothing is paid."""
    await writes.admit(agent.did)
    book = ledger.Book.of(config)
    token = await gathered.release(body.token, agent.did)
    if token is None:
        token = await db.transaction(lambda tx: release(tx, body.token, agent.did, book))
    return ReleaseOut(token_id=token.id, status=token.status)


@router.post(
    "/release-by-id/{token_id:uuid}",
    response_model=ReleaseOut,
    responses=problems(*RELEASE_REFUSALS, KeyReused, KeyInProgress),
)
async def release_payment_by_id(
    token_id: Annotated[UUID, Path()],
    agent: CurrentAgent,
    db: Db,
    config: Config,
    *,
    writes: WriteLimit,
    key: IdempotencyKey = None,
) -> Response:
    """As release, of a token that is named by its id."""
    await writes.admit(agent.did)
    book = ledger.Book.of(config)
    route = f"{PREFIX}/release-by-id/{token_id}"
    request = Repeatable(agent.did, route, key, None) if key else None

    async def released(tx: Tx) -> ReleaseOut:
        token = await release_by_id(tx, token_id, agent.did, book)
        return ReleaseOut(token_id=token.id, status=token.status)

    return await once(db, request, released)


@router.get("/my-tokens", responses=problems(Unauthorized, Invalid))
async def read_my_tokens(
    agent: CurrentAgent,
    db: Db,
    config: Config,
    *,
    status: Status | None = None,
    role: Annotated[
        str, Query(pattern="^(caller|payee)$", description="Tokens that one authorized, or is paid by.")
    ] = "caller",
    token_id: Annotated[
        UUID | None,
        Query(
            description="Only the token with this id, however old; an empty list if the agent has none such."
        ),
    ] = None,
    limit: Annotated[int, Query(ge=1, le=LISTED_MAX)] = LISTED_DEFAULT,
) -> list[TokenOut]:
    """The agent's tokens, newest first; no token itself is shown again."""
    is_payee = role == "payee"
    found = await db.query(
        lambda tx: list_tokens(
            tx, agent.did, is_payee=is_payee, status=status, limit=limit, token_id=token_id
        )
    )
    return [TokenOut.of(token, config.settlement_currency) for token in found]


@router.get(
    "/quote",
    responses=problems(
        errors.TargetMalformed,
        Unauthorized,
        catalogue.CardUnknown,
        Invalid,
        errors.QuoteNotFirm,
        KeyReused,
        KeyInProgress,
        errors.TooManyFirmQuotes,
        federation.KeyDoesNotOpen,
    ),
    response_model=QuoteOut,
)
async def quote_payment(
    agent: CurrentAgent,
    db: Db,
    config: Config,
    signatory: SignatoryOfHere,
    *,
    target_agent_did: Annotated[str, Query(max_length=DID_MAX_CHARACTERS)],
    amount: Annotated[
        PositiveAmount | None, Query(description="The amount to be paid instead of the price on the card.")
    ] = None,
    firm: Annotated[
        bool, Query(description="Sign the quote, so that authorize honours its amount and fee for a minute.")
    ] = False,
    gross_up: Annotated[
        bool,
        Query(description="Raise the amount, so that a payee of another registry gets its price in full."),
    ] = False,
    key: IdempotencyKey = None,
) -> Response:
    """The price of a service, as its card states it, and the fee that its payment would bear now.

    An Idempotency-Key counts for a firm quote alone.
    """
    named = None if amount is None else parse_positive(amount)
    asked = {"target_agent_did": target_agent_did, "amount": amount, "gross_up": gross_up}
    request = Repeatable(agent.did, "/a2a-payment/quote", key, asked) if key and firm else None

    async def read(tx: Tx) -> Quote:
        return await quote(tx, agent.did, target_agent_did, named, config, gross_up=gross_up)

    async def counted(tx: Tx) -> tuple[FirmQuote, bool]:
        if request is not None and (known := await recall(tx, request)) is not None:
            return FirmQuote.of_text(known), True
        quoted = await read(tx)
        await require_firm(tx, quoted)
        made = FirmQuote(quoted, await count_firm(tx, agent.did, quoted, config))
        if request is not None:
            await remember(tx, request, made.as_text())
        return made, False

    currency = config.settlement_currency
    if not firm:
        return answer_once(QuoteOut.of(await db.read(read), currency, None).model_dump_json(), replayed=False)
    made, replayed = await db.transaction(counted)
    signed = await sign_quote(signatory, agent.did, made.quote_id, made.quote, currency)
    return answer_once(QuoteOut.of(made.quote, currency, signed).model_dump_json(), replayed=replayed)
