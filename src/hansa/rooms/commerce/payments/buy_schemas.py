"""Shapes of a quote and of a purchase. Amounts are decimal strings in the registry's unit."""

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import Field, StrictBool, model_validator

from hansa.foundation.values.did import DID_MAX_CHARACTERS
from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.money import Amount, Minor, format_amount, parse_amount
from hansa.foundation.values.request_body import RequestBody

from .purchase import Purchase, PurchaseOrder
from .quote import Quote, Source, plain_price
from .rules import Status
from .schemas import TTL_SECONDS_DEFAULT
from .service_call import ServiceRequest

TIMEOUT_SECONDS_DEFAULT = 30
MESSAGE_MAX_CHARACTERS = 100_000


class CallIn(RequestBody):
    """A JSON-RPC request to the service."""

    method: Annotated[str, Field(min_length=1, max_length=256, examples=["SendMessage"])]
    params: Annotated[dict[str, Any], Field(default_factory=dict, examples=[{"message": {"parts": []}}])]


class BuyIn(RequestBody):
    """A call to be paid: either `request` or `message`."""

    target_agent_did: Annotated[str, Field(max_length=DID_MAX_CHARACTERS, description="The payee.")]
    request: Annotated[CallIn | None, Field(description="The JSON-RPC request that is sent.")] = None
    message: Annotated[
        str | dict[str, Any] | None,
        Field(
            description="A text, or a message of A2A as its service reads it, which is sent instead.",
            examples=["Translate: good morning"],
        ),
    ] = None
    max_amount: Annotated[Amount, Field(description="The most that may be paid, without the fee.")]
    ttl_seconds: Annotated[
        int,
        Field(
            ge=60,
            le=3600,
            strict=True,
            description="How long the token lives; at least a minute more than the timeout.",
        ),
    ] = TTL_SECONDS_DEFAULT
    timeout_seconds: Annotated[
        int, Field(ge=1, le=60, strict=True, description="How long the service has for its answer.")
    ] = TIMEOUT_SECONDS_DEFAULT
    settle_on_timeout: Annotated[
        StrictBool,
        Field(description="Pay also when the service verified the token and did not answer in time."),
    ] = False
    approval_id: Annotated[
        UUID | None, Field(description="The owner's approval of this payee and amount, good for one payment.")
    ] = None

    @model_validator(mode="after")
    def _one_request(self) -> "BuyIn":
        if (self.request is None) == (self.message is None):
            raise ValueError("send either request or message")
        if isinstance(self.message, str) and not 0 < len(self.message) <= MESSAGE_MAX_CHARACTERS:
            raise ValueError(f"message must have 1 to {MESSAGE_MAX_CHARACTERS} characters")
        return self

    def order(self) -> PurchaseOrder:
        """The order that this request makes."""
        call = self.request
        return PurchaseOrder(
            payee=self.target_agent_did,
            request=ServiceRequest(call.method, call.params)
            if call
            else ServiceRequest(message=self.message),
            amount_max=parse_amount(self.max_amount),
            ttl_seconds=self.ttl_seconds,
            timeout_seconds=self.timeout_seconds,
            settle_on_timeout=self.settle_on_timeout,
            approval_id=self.approval_id,
        )


class BuyOut(LazyModel):
    """A purchase: what the service answered, and how its token ended."""

    token_id: UUID
    status: Status
    settlement_tx_id: str | None
    amount: str
    answer: Any = Field(
        description="The JSON that the service answered; null when it did not answer, or its answer was lost.",
        examples=[{"jsonrpc": "2.0", "id": "1", "result": {"parts": [{"text": "bonjour"}]}}],
    )
    task_id: str | None
    currency: str
    target_agent_did: str
    reason: str | None = Field(
        description="Why nothing was delivered or paid.", examples=["timeout", "insufficient_balance"]
    )

    @classmethod
    def of(cls, bought: Purchase, currency: str) -> "BuyOut":
        """The shape of a purchase."""
        token, answer = bought.token, bought.answer
        return cls(
            token_id=token.id,
            status=token.status,
            settlement_tx_id=token.settlement_tx_id,
            amount=format_amount(token.amount),
            answer=answer.body if answer else None,
            task_id=answer.task_id if answer else token.task_id,
            currency=currency,
            target_agent_did=token.payee,
            reason=token.reason or (answer.trouble if answer else None),
        )


class QuoteOut(LazyModel):
    """The price of a service and what its payment would cost; null where the price is not known in this registry's unit."""

    target_agent_did: str
    price: str | None = Field(examples=["2.5"])
    price_currency: str
    amount: str | None
    amount_received: str | None = Field(
        description="What the payee gets: at another registry, the amount less the border fee of that registry.",
        examples=["2.5"],
    )
    currency: str
    rate: str | None = Field(description="Units of this registry for one of the price.", examples=["1"])
    fee: str | None
    total: str | None
    pricing_model: str | None
    source: Source
    expires_at: datetime
    quote_token: str | None = Field(
        repr=False,
        examples=["eyJhbGciOiJFZERTQSJ9.eyJraW5kIjoicGF5LnF1b3RlLnYxIn0.c2lnbmF0dXJl"],
        description="With firm=true: amount and fee, signed; authorize takes it once, until expires_at.",
    )

    @classmethod
    def of(cls, quoted: Quote, currency: str, quote_token: str | None = None) -> "QuoteOut":
        """The shape of a quote."""
        return cls(
            target_agent_did=quoted.payee,
            price=None if quoted.price is None else plain_price(quoted.price),
            price_currency=quoted.price_currency,
            amount=_amount(quoted.amount),
            amount_received=_amount(quoted.amount_received),
            currency=currency,
            rate=quoted.rate_to(currency),
            fee=_amount(quoted.fee),
            total=_amount(quoted.total),
            pricing_model=quoted.pricing_model,
            source=quoted.source,
            expires_at=quoted.expires_at,
            quote_token=quote_token,
        )


def _amount(minor: Minor | None) -> str | None:
    return None if minor is None else format_amount(minor)
