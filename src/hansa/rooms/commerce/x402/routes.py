"""x402, version 2, over HTTP: supported payments, verification, settlement, priced agents."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query

from hansa.foundation.plumbing import parameters
from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Database
from hansa.foundation.plumbing.web.bodies import GuardedRoute
from hansa.foundation.plumbing.web.caller import Public
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import Invalid, TooManyRequests, Unavailable
from hansa.rooms import catalogue, ledger
from hansa.rooms.commerce import payments

from . import judging
from .discovery import discover_resources
from .judging import PaymentInvalid
from .native import settle_native, verify_native
from .networks import Networks
from .schemas import (
    RESOURCE_TYPE,
    DiscoveredPagination,
    DiscoveredResourcesOut,
    PaymentIn,
    PaymentSettlementOut,
    PaymentVerificationOut,
    SupportedOut,
)
from .settlement import Settlement
from .wallet import WalletPayment, settle_wallet, verify_wallet

LISTED_DEFAULT, LISTED_MAX = 20, 100
OFFSET_MAX = 10_000

router = APIRouter(prefix="/x402", tags=["x402"], route_class=GuardedRoute)


Verifier = Annotated[payments.Verifier, Depends(payments.VERIFIER.given)]
Settlements = Annotated[payments.Settlements, Depends(payments.SETTLEMENTS.given)]


@router.get("/supported", dependencies=[Depends(within_read_limit)], responses=problems(TooManyRequests))
async def read_supported_payments(_: Public, config: parameters.InForce) -> SupportedOut:
    """The networks on which this registry settles, with the EIP-712 domain that wallets sign under."""
    return SupportedOut.of(Networks.of(config))


@router.post("/verify", responses=problems(Invalid, Unavailable), response_model_exclude_none=True)
async def verify_x402_payment(
    body: PaymentIn,
    _: Public,
    db: Db,
    config: Config,
    verifier: Verifier,
) -> PaymentVerificationOut:
    """Whether a payment is good; a payment token that is good is consumed by it."""
    try:
        return await _verified(body, db, config, verifier)
    except PaymentInvalid as invalid:
        return PaymentVerificationOut.refused(invalid)


async def _verified(
    body: PaymentIn, db: Database, config: Settings, verifier: payments.Verifier
) -> PaymentVerificationOut:
    networks = Networks.of(config)
    required = _required(body, networks)
    if required.network == networks.native:
        native = judging.read_native(body.payment_payload, networks)
        return PaymentVerificationOut(
            is_valid=True, payer=await verify_native(verifier, db, native, required)
        )
    payment = WalletPayment.of(judging.read_authorization(body.payment_payload), required, networks)
    fee = await db.read(lambda tx: verify_wallet(tx, payment, config))
    return PaymentVerificationOut(is_valid=True, payer=payment.authorization.payer, extra={"fee": str(fee)})


@router.post("/settle", responses=problems(Invalid, Unavailable), response_model_exclude_none=True)
async def settle_x402_payment(
    body: PaymentIn,
    _: Public,
    db: Db,
    config: Config,
    settlements: Settlements,
) -> PaymentSettlementOut:
    """Pay what is required, once: everyone who has a payment may settle it, for the payee that it names."""
    try:
        required = _required(body, Networks.of(config))
        settlement = await _settled(body, required, db, config, settlements)
        return PaymentSettlementOut.of(settlement, required)
    except PaymentInvalid as invalid:
        return PaymentSettlementOut.refused(invalid, body.payment_requirements.get("network"))


def _required(body: PaymentIn, networks: Networks) -> judging.Requirements:
    return judging.read_requirements(
        networks, body.x402_version, body.payment_payload, body.payment_requirements
    )


async def _settled(
    body: PaymentIn,
    required: judging.Requirements,
    db: Database,
    config: Settings,
    settlements: payments.Settlements,
) -> Settlement:
    networks = Networks.of(config)
    if required.network == networks.native:
        native = judging.read_native(body.payment_payload, networks)
        return await settle_native(db, settlements, native, required, ledger.Book.of(config))
    payment = WalletPayment.of(judging.read_authorization(body.payment_payload), required, networks)
    return await settle_wallet(db, payment, config)


@router.get(
    "/discovery/resources",
    dependencies=[Depends(within_read_limit)],
    responses=problems(Invalid, TooManyRequests, catalogue.SearchNotReady),
)
async def read_x402_resources(
    _: Public,
    db: Db,
    config: parameters.InForce,
    searcher: catalogue.Search,
    *,
    kind: Annotated[str | None, Query(alias="type", max_length=64, examples=["http"])] = None,
    limit: Annotated[int, Query(ge=1, le=LISTED_MAX)] = LISTED_DEFAULT,
    offset: Annotated[int, Query(ge=0, le=OFFSET_MAX)] = 0,
) -> DiscoveredResourcesOut:
    """The agents of this registry that state a price, the newest first, and how each can be paid."""
    page = DiscoveredPagination(limit=limit, offset=offset, total=0)
    if kind not in {None, RESOURCE_TYPE}:
        return DiscoveredResourcesOut(items=[], pagination=page)
    return await discover_resources(searcher, db, Networks.of(config), page)
