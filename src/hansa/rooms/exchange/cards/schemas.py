"""Shapes of stock cards. Prices and amounts are decimal strings, quantities whole points."""

from datetime import date, datetime
from typing import Annotated, Literal, TypeAlias

from pydantic import AwareDatetime, Field

from hansa.foundation.values.lazy_model import LazyModel
from hansa.rooms.exchange.schemas import POINTS_MAX, REF_PATTERN

LISTINGS_MAX = 1000
VOLUME_MAX = 10**18
AMOUNT_PATTERN = r"^(0|[1-9][0-9]{0,29})(\.[0-9]{1,8})?$"

Ref = Annotated[str, Field(pattern=REF_PATTERN)]
Price = Annotated[str, Field(pattern=AMOUNT_PATTERN)]
Points = Annotated[int, Field(strict=True, ge=0, le=POINTS_MAX)]
Day: TypeAlias = date
Freshness: TypeAlias = Literal["current", "stale"]
FRESHNESS = "`stale` once the card is older than 26 hours. It is not signed."


class StockListingOut(LazyModel):
    """A listing as it was when the stock card was made."""

    ref: Ref
    treasury_did: Annotated[str, Field(pattern=r"^did:[a-z0-9]+:[A-Za-z0-9._:%-]+$", max_length=512)]
    status: Annotated[str, Field(pattern=r"^[A-Z]{1,32}$")]
    total: Points
    sold: Points
    price: Annotated[Price, Field(description="Price of a point in the launch.")]
    revenue_bps: Annotated[int, Field(strict=True, ge=1, le=10_000)]
    term_months: Annotated[int, Field(strict=True, ge=1, le=1200)]
    fee_bps: Annotated[int, Field(strict=True, ge=0, le=10_000)]
    ends_at: AwareDatetime | None
    terms_sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class StockCloseOut(LazyModel):
    """The price of a point at the end of the day, and what was traded on it."""

    ref: Ref
    close: Annotated[
        Price, Field(description="Price of the last trade until the end of the day, else of the launch.")
    ]
    volume: Annotated[int, Field(strict=True, ge=0, le=VOLUME_MAX, description="Points.")]
    notional: Annotated[Price, Field(description="Sum of the amounts.")]
    trades: Annotated[int, Field(strict=True, ge=0, le=VOLUME_MAX)]


class StockRegistryOut(LazyModel):
    """The registry that lists the points."""

    ledger_id: Annotated[str, Field(max_length=512)]
    registry_name: Annotated[str, Field(max_length=128)]
    spiffe_id: Annotated[str, Field(max_length=512)]


class SignedStockCard(LazyModel):
    """The members of a stock card that its digest covers."""

    stock_card_version: Literal["1.0"]
    registry: StockRegistryOut
    currency: Annotated[str, Field(pattern=r"^[A-Z]{2,8}$")]
    date: Annotated[Day, Field(description="The day (UTC) of the closes.")]
    market_epoch: Annotated[
        str,
        Field(
            pattern=r"^[0-9]{1,19}\.[0-9]{4}-[0-9]{2}-[0-9]{2}$",
            description="The newest transaction of the ledger when the card was made, and the day.",
        ),
    ]
    as_of: AwareDatetime
    listings: Annotated[list[StockListingOut], Field(max_length=LISTINGS_MAX)]
    closes: Annotated[list[StockCloseOut], Field(max_length=LISTINGS_MAX)]


class StockCardOut(SignedStockCard):
    """Closes of the last whole day, and the listings. `fees.exchange.stock_card.digest` of the registry card signs it."""

    digest: str = Field(
        description="`sha256:` and the SHA-256 of the canonical JSON of the other members without `market_freshness`."
    )
    market_freshness: Freshness = Field(description=FRESHNESS)


class VenueOut(LazyModel):
    """The last verified stock card of a peer."""

    registry_name: str
    ledger_id: str
    registry_url: str
    currency: str
    date: Day
    market_epoch: str
    market_freshness: Freshness = Field(description=FRESHNESS)
    as_of: datetime
    digest: str = Field(description="Digest of the stock card, as the registry card of the peer signs it.")
    listings: list[StockListingOut]
    closes: list[StockCloseOut]


class FederationTickersOut(LazyModel):
    """Stock cards of peers, by their ledger ids. Points are traded at the registry that lists them."""

    venues: list[VenueOut]
