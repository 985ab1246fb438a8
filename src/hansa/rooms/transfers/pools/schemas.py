"""Shapes of pools, rates and quotes. Amounts are decimal strings."""

from datetime import datetime
from decimal import Decimal
from typing import Annotated, Literal
from uuid import UUID

from pydantic import ConfigDict, Field, model_validator

from hansa.foundation.values.did import DID_MAX_CHARACTERS
from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.money import (
    DECIMALS,
    UNIT,
    Amount,
    Minor,
    PositiveAmount,
    format_amount,
    parse_amount,
    parse_positive,
)
from hansa.foundation.values.request_body import RequestBody

from .acts import PoolAct
from .pricing import FEE, RESERVE_FLOOR_MIN, Limits
from .reading import PoolState, Quote, decimal_text, percent_text

PEER_MAX_CHARACTERS = 512
CURRENCY_PATTERN = r"^[A-Z]{2,8}$"
RATE_PATTERN = r"^[0-9]{1,12}(\.[0-9]{1,18})?$"
FEE_PCT = percent_text(FEE)

Currency = Annotated[str, Field(pattern=CURRENCY_PATTERN, examples=["BOB"])]


class SwapQuoteIn(RequestBody):
    """The swap to be priced: into a currency, or to a receiver at another registry."""

    to_currency: Currency | None = None
    receiver_did: Annotated[str | None, Field(min_length=1, max_length=DID_MAX_CHARACTERS)] = None
    amount: PositiveAmount
    direction: Annotated[
        Literal["exact_in", "exact_out"],
        Field(description="`exact_in`: `amount` is sent. `exact_out`: at least `amount` is received."),
    ] = "exact_in"

    @model_validator(mode="after")
    def _one_target(self) -> "SwapQuoteIn":
        if (self.to_currency is None) == (self.receiver_did is None):
            raise ValueError("exactly one of to_currency and receiver_did is required")
        return self

    @property
    def minor(self) -> Minor:
        """The amount in minor units."""
        return parse_positive(self.amount)


class SwapQuoteOut(LazyModel):
    """A price that holds until the pool moves. A transfer with `quote_id` pays at least `amount_out`, or is refused."""

    model_config = ConfigDict(serialize_by_alias=True)

    quote_id: UUID
    from_: str = Field(alias="from")
    to: str
    amount_in: str
    amount_out: str
    rate: str = Field(description="Units received for one unit sent, the fee included.")
    fee: str
    fee_currency: str
    price_impact: str = Field(description="How much worse than the spot price, the fee left out, in percent.")
    slippage_max: str = Field(
        description="In percent: without min_amount_out a transfer accepts this much less than the spot price."
    )
    expires_at: datetime

    @classmethod
    def of(cls, quote: Quote, own: str, limits: Limits) -> "SwapQuoteOut":
        """The answer that describes a quote."""
        return cls.model_validate(
            {
                "quote_id": quote.quote_id,
                "from": own,
                "to": quote.currency,
                "amount_in": format_amount(quote.price.amount_in),
                "amount_out": format_amount(quote.price.amount_out),
                "rate": decimal_text(quote.rate),
                "fee": format_amount(quote.price.fee),
                "fee_currency": quote.currency,
                "price_impact": percent_text(quote.impact),
                "slippage_max": percent_text(limits.slippage_max),
                "expires_at": quote.expires_at,
            }
        )


class RateOut(LazyModel):
    """The spot price of one currency."""

    model_config = ConfigDict(serialize_by_alias=True)

    from_: str = Field(alias="from")
    to: str
    rate: str | None = Field(
        description="Units of `to` for one of `from`, before the fee; null without a price."
    )
    mode: Literal["fixed", "pool"]
    fee_pct: str
    as_of: datetime

    @classmethod
    def of(cls, state: PoolState, own: str) -> "RateOut":
        """The answer that describes a pool's spot rate."""
        rate = state.rate
        return cls.model_validate(
            {
                "from": own,
                "to": state.pool.currency,
                "rate": None if rate is None else decimal_text(rate),
                "mode": state.pool.mode,
                "fee_pct": FEE_PCT,
                "as_of": state.as_of,
            }
        )


class RatesOut(LazyModel):
    """The spot prices of every currency that can be swapped."""

    items: list[RateOut]


class BreakerOut(LazyModel):
    """How far the price may move within an hour."""

    pct: str
    open_until: datetime | None = Field(
        description="While set, even the smallest swaps of one direction are refused."
    )


class PoolOut(LazyModel):
    """A pool, as this registry sees it."""

    model_config = ConfigDict(serialize_by_alias=True)

    from_: str = Field(alias="from")
    to: str
    peer: str = Field(description="The ledger id of the other registry.")
    home: str = Field(description="The ledger id of the registry that fixes the price.")
    mode: Literal["fixed", "pool"]
    reserve_from: str
    reserve_to: str
    k: str = Field(description="The product of the two reserves.")
    fee_pct: str
    size_cap: str = Field(
        description="In units of `from`: the most that pending swaps may be worth together."
    )
    reserve_floor: str
    proposed: str | None = Field(
        description="What the registry that is not the home has to fund first; null once it did."
    )
    breaker: BreakerOut

    @classmethod
    def of(cls, state: PoolState, book_currency: str, frame: str, limits: Limits) -> "PoolOut":
        """The answer that describes a pool."""
        pool = state.pool
        return cls.model_validate(
            {
                "from": book_currency,
                "to": pool.currency,
                "peer": pool.frame,
                "home": frame if pool.is_home else pool.frame,
                "mode": pool.mode,
                "reserve_from": format_amount(pool.reserve_own),
                "reserve_to": format_amount(pool.reserve_foreign),
                "k": _product(pool.reserve_own, max(0, pool.reserve_foreign)),
                "fee_pct": FEE_PCT,
                "size_cap": format_amount(limits.size_cap),
                "reserve_floor": format_amount(max(limits.reserve_floor, RESERVE_FLOOR_MIN)),
                "proposed": None if pool.proposed is None else format_amount(pool.proposed),
                "breaker": {"pct": percent_text(limits.breaker), "open_until": state.open_until},
            }
        )


def _product(one: int, other: int) -> str:
    """The product of two amounts in minor units, as a decimal string in units."""
    whole, fraction = divmod(one * other, UNIT**2)
    digits = f"{fraction:0{2 * DECIMALS}d}".rstrip("0")
    return f"{whole}.{digits}" if digits else str(whole)


class PoolIn(RequestBody):
    """A pool to be opened. This registry becomes its home; the peer's administrator funds `reserve_foreign`."""

    currency: Currency
    peer: Annotated[
        str,
        Field(
            min_length=1,
            max_length=PEER_MAX_CHARACTERS,
            description="Registry name, trust domain or ledger id of the peer.",
        ),
    ]
    reserve_own: PositiveAmount
    reserve_foreign: PositiveAmount


class PoolAmountIn(RequestBody):
    """Units of the own currency."""

    amount: PositiveAmount


class RateIn(RequestBody):
    """The rate of fixed mode."""

    rate: Annotated[
        str,
        Field(
            pattern=RATE_PATTERN,
            description="Units of the foreign currency for one own unit, greater than 0.",
            examples=["2.5"],
        ),
    ]

    @model_validator(mode="after")
    def _is_positive(self) -> "RateIn":
        if Decimal(self.rate) == 0:
            raise ValueError("rate must be greater than 0")
        return self


class PoolActIn(RequestBody):
    """What a peer did with a pool. Amounts are in the peer's currency; of a proposal, `asked` is in the receiver's."""

    act_id: UUID
    kind: Literal["propose", "fund", "drain", "terms", "close"]
    currency: Currency
    amount: Amount
    asked: Amount
    mode: Literal["pool", "fixed"]
    rate: Annotated[str | None, Field(pattern=RATE_PATTERN)] = None

    @property
    def act(self) -> PoolAct:
        """The act with its amounts in minor units."""
        rate = Decimal(self.rate) if self.rate is not None and Decimal(self.rate) > 0 else None
        return PoolAct(
            self.act_id,
            self.kind,
            self.currency,
            parse_amount(self.amount),
            parse_amount(self.asked),
            self.mode,
            rate,
        )


class PoolActOut(LazyModel):
    """The act is taken in; a repeated one changes nothing."""

    act_id: UUID
