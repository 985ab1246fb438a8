"""Payments by a payment token of this registry that its payee captures. Who has the token and names its payee may settle it."""

from hansa.foundation.plumbing.storage.database import Database
from hansa.foundation.values.errors import Refused, Unavailable
from hansa.foundation.values.money import Minor
from hansa.rooms import ledger
from hansa.rooms.commerce import payments

from . import judging
from .judging import NativePayment, PaymentInvalid, Requirements
from .settlement import Settlement

WAIT_SECONDS = 30
NOT_FOUND = "invalid_exact_hansa_token_not_found"
EXPIRED = "invalid_exact_hansa_token_expired"
WRONG_STATUS = "invalid_exact_hansa_token_status"


async def verify_native(
    verifier: payments.Verifier, database: Database, payment: NativePayment, required: Requirements
) -> str:
    """The DID of the payer. A token that is good is consumed: its caller can release it no longer. Raises: PaymentInvalid."""
    token = await _found(database, payment, required)
    use_id = payments.use_for_part(required.amount)
    verification = await verifier.verify(payments.VerifyOrder(payment.token, token.payee, use_id))
    if verification.error is not None:
        raise PaymentInvalid(_reason_of(verification.error), verification.error, token.caller)
    assert verification.token is not None
    _require_verified_amount(verification.token, required)
    return token.caller


def _reason_of(error: str) -> str:
    reasons = {"Token expired": EXPIRED, payments.USED_FOR_PART: judging.AMOUNT_MISMATCH}
    return reasons.get(error, WRONG_STATUS)


def _require_verified_amount(token: payments.Token, required: Requirements) -> None:
    """The payer has the token as well: a part of its amount is only for the service that verified it for that part."""
    if not payments.may_be_captured_for(token, required.amount):
        raise PaymentInvalid(
            judging.AMOUNT_MISMATCH,
            "A part of the token's amount is captured only after the token was verified for that part first.",
            token.caller,
        )


async def settle_native(
    database: Database,
    settlements: payments.Settlements,
    payment: NativePayment,
    required: Requirements,
    book: ledger.Book,
) -> Settlement:
    """Capture the amount that is required, once; an unknown outcome is `settlement_pending`. Raises: PaymentInvalid."""
    token = await _found(database, payment, required)
    if token.status == "settled" and token.paid == required.amount:
        return _outcome(token)
    if token.status in payments.OPEN:
        _require_verified_amount(token, required)
    order = payments.SettleOrder(payment.token, token.payee, capture_amount=required.amount)
    try:
        settled = await payments.settle_and_answer(database, settlements, order, book, WAIT_SECONDS)
    except Unavailable:
        return _pending(token, required.amount)
    except Refused as refusal:
        reason = EXPIRED if isinstance(refusal, payments.TokenExpired) else WRONG_STATUS
        raise PaymentInvalid(reason, refusal.detail, token.caller) from None
    if settled.status == "settled" and settled.paid != required.amount:
        raise PaymentInvalid(WRONG_STATUS, "The token was settled for another amount.", token.caller)
    return _outcome(settled)


async def _found(database: Database, payment: NativePayment, required: Requirements) -> payments.Token:
    token = await database.query(lambda tx: payments.token_of_secret(tx, payment.token))
    if token is None:
        raise PaymentInvalid(NOT_FOUND, "There is no such payment token.")
    judging.require_capturable(token, required)
    return token


def _outcome(token: payments.Token) -> Settlement:
    if token.settlement_tx_id is not None:
        return Settlement(str(token.id), token.caller, token.paid, token.settlement_tx_id, token.fee)
    if token.status == "settling":
        return _pending(token, token.paid)
    raise PaymentInvalid(token.reason or WRONG_STATUS, f"Token status: {token.status}", token.caller)


def _pending(token: payments.Token, amount: Minor) -> Settlement:
    return Settlement(str(token.id), token.caller, amount, reason=judging.SETTLEMENT_PENDING)
