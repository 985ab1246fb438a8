"""Why a payment route refuses."""

from typing import ClassVar

from hansa.foundation.values.errors import (
    BadRequest,
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    Refused,
    TooManyRequests,
)


class AmountNotPositive(BadRequest):
    """The amount is a decimal that is not greater than zero."""

    code = "AMOUNT_NOT_POSITIVE"
    sentence = "amount must be greater than zero."


class TargetMalformed(BadRequest):
    """The target is no DID, is too short, or is the caller itself."""

    code = "TARGET_AGENT_MALFORMED"


class PayeeNotAdmitted(Forbidden):
    """The payee is an agent of this registry that may not act."""

    code = "PAYEE_NOT_ADMITTED"


class TooManyUnusedTokens(TooManyRequests):
    """The caller has as many unused payment tokens as it may have."""

    code = "TOO_MANY_UNUSED_TOKENS"
    remedy = "Settle or release a token, or wait for the time in the Retry-After header, when the first one expires."


class TooManyFirmQuotes(TooManyRequests):
    """The caller has as many firm quotes as it may have."""

    code = "TOO_MANY_FIRM_QUOTES"
    remedy = "Use a quote, or wait for the time in the Retry-After header, when the first one is over."


class ReserveNotPossible(Invalid):
    """Units cannot be reserved for a payee of another registry."""

    code = "RESERVE_NOT_POSSIBLE"
    sentence = "reserve and capture_by payee are possible for a payee of this registry only."


class TokenUnknown(NotFound):
    """There is no such payment token."""

    code = "PAYMENT_TOKEN_UNKNOWN"
    sentence = "Token not found"


class NotTheCaller(Forbidden):
    """The token was authorized by another agent."""

    code = "PAYMENT_TOKEN_OF_ANOTHER"
    sentence = "Only the agent that authorized the token may do that."


class CapturedByPayee(Forbidden):
    """The token is settled by its payee; its caller releases it while it is unused."""

    code = "CAPTURED_BY_PAYEE"
    sentence = "This token is settled by its payee; its caller can release it until it is verified."


class TokenStatus(BadRequest):
    """The status of the token does not allow that."""

    code = "PAYMENT_TOKEN_STATUS"


class TokenExpired(BadRequest):
    """The token has expired."""

    code = "PAYMENT_TOKEN_EXPIRED"
    sentence = "Token expired"


class SettlementInProgress(Conflict):
    """The token is being settled by another request whose outcome is not known yet."""

    code = "SETTLEMENT_IN_PROGRESS"
    sentence = "The token is being settled; ask again for the outcome."


class CaptureAmountRefused(Invalid):
    """The amount to capture is above that of the token, or the token is not captured by its payee."""

    code = "CAPTURE_AMOUNT_REFUSED"


class TokenMismatch(Conflict):
    """The payment token is for another caller, payee, amount or contract than what it is to pay."""

    code = "PAYMENT_TOKEN_MISMATCH"


class QuoteNotFirm(Invalid):
    """A firm quote is possible only for an amount above zero to a payee of this registry."""

    code = "QUOTE_NOT_FIRM"


class QuoteUnreadable(Invalid):
    """The quote_token is not one that this registry signed."""

    code = "QUOTE_TOKEN_INVALID"
    sentence = "quote_token is not a quote that this registry signed."


class QuoteOfAnother(Forbidden):
    """The quote was made for another agent."""

    code = "QUOTE_OF_ANOTHER"
    sentence = "The quote was made for another agent; ask for a quote of your own."


class QuoteMismatch(Invalid):
    """The amount or the payee is not that of the quote."""

    code = "QUOTE_MISMATCH"
    sentence = "amount and target_agent_did must be those of the quote."


class QuoteExpired(Conflict):
    """The quote has expired."""

    code = "QUOTE_EXPIRED"
    sentence = "The quote has expired; ask for a new one."


class QuoteUsed(Conflict):
    """Another token was authorized with the quote."""

    code = "QUOTE_USED"
    sentence = "The quote was used for another token; ask for a new one."


class PriceAboveMaximum(Refused):
    """The price of the service is above max_amount; nothing was authorized."""

    status: ClassVar[int] = 402
    code = "PRICE_ABOVE_MAXIMUM"
    remedy = "Raise max_amount to the price in the context, or choose another service."


class PurchaseBudgetExceeded(Refused):
    """The budget of these purchases does not cover the price; nothing was authorized."""

    status: ClassVar[int] = 402
    code = "PURCHASE_BUDGET_EXCEEDED"
    sentence = "The budget of these purchases does not cover the price."
    remedy = "Raise the budget, or wait until an open payment has ended."


class PriceNotPayable(Invalid):
    """The service has no price above zero in this registry's unit."""

    code = "PRICE_NOT_PAYABLE"
    sentence = "The service has no price above zero in this registry's unit; call it directly."


class ServiceNotCallable(Invalid):
    """The service is no agent of this registry, or its card names no address that the registry may call by JSON-RPC."""

    code = "SERVICE_NOT_CALLABLE"
    sentence = "The card of the service names no JSON-RPC address that this registry may call."


class ReceiptUnknown(NotFound):
    """There is no settled payment with this id."""

    code = "RECEIPT_UNKNOWN"
    sentence = "There is no settled payment with this id."
