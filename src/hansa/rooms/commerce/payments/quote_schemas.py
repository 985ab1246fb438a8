"""The shape of a quote. Amounts are decimal strings in the registry's unit."""

from datetime import datetime

from pydantic import Field

from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.money import Minor, format_amount

from .quote import Quote, Source, plain_price


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
