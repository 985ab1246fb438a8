"""Market card at `/.well-known/agora-card.json`: the offers of this registry, their unit, and the forms of payment.

The market of this registry is its priced agents. Listings of points have the stock card (`/api/v1/agora/stock-card`).
"""

from typing import Any, Literal

from fastapi import APIRouter, Depends, Response
from pydantic import Field

from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.web.bodies import GuardedRoute
from hansa.foundation.plumbing.web.caller import Public
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import TooManyRequests
from hansa.foundation.values.lazy_model import LazyModel
from hansa.rooms import catalogue, federation

from .x402 import Networks

AGORA_AT = "/.well-known/agora-card.json"
VERSION = "1.0"
CACHED = "public, no-cache"
"""An agent that was unlisted must be gone at the next request."""
OFFERS_MAX = 20
PAYMENT_PROTOCOLS = ("a2a-payment-v1", "x402")

agora_router = APIRouter(
    tags=["discovery protocols"], route_class=GuardedRoute, dependencies=[Depends(within_read_limit)]
)


class MarketRegistryOut(LazyModel):
    """Whose market it is."""

    registry_name: str
    spiffe_id: str
    trust_domain: str
    registry_card: str = Field(description="The signed card with fees, policy and keys.")


class ExchangeOut(LazyModel):
    """Block `fees.exchange` of the registry card, which has the places."""

    enabled: bool
    passport_enabled: Literal[False] = False


class OfferOut(LazyModel):
    """An agent that states a price."""

    did: str
    name: str
    description: str | None
    tags: list[str]
    pricing: dict[str, Any] | None = Field(description="The price as the agent's card states it.")
    page: str


class OffersOut(LazyModel):
    """The priced agents of this registry: how many, the newest of them, and where the others are."""

    count: int
    newest: list[OfferOut]
    discover: str = Field(description="Search with filters and pages.")
    resources: str = Field(description="The same agents as x402 lists resources.")


class PaymentPathsOut(LazyModel):
    """How an agent is paid."""

    protocols: list[str]
    networks: list[str] = Field(description="x402 networks on which this registry settles.")
    authorize: str
    verify: str
    settle: str
    quote: str


class AgoraCardOut(LazyModel):
    """What is for sale at this registry, in which unit, and how it is paid."""

    agora_card_version: str = VERSION
    registry: MarketRegistryOut
    currency: str
    exchange: ExchangeOut
    offers: OffersOut
    payment: PaymentPathsOut


@agora_router.get(AGORA_AT, responses=problems(TooManyRequests, catalogue.SearchNotReady))
async def read_agora_card(
    _: Public, response: Response, db: Db, settings: Config, searcher: catalogue.Search
) -> AgoraCardOut:
    """The market of this registry: its priced agents, the unit, and the routes by which they are paid."""
    response.headers.update({"Cache-Control": CACHED, "Access-Control-Allow-Origin": "*"})
    query = catalogue.SearchQuery(
        origins=(catalogue.LOCAL_ORIGIN,),
        pricing="paid",
        agents_only=True,
        sort="newest",
        limit=OFFERS_MAX,
    )
    found = await catalogue.discover(searcher, db, query)
    base = settings.base_url
    return AgoraCardOut(
        registry=MarketRegistryOut(
            registry_name=settings.registry_name,
            spiffe_id=federation.registry_id_of(settings.trust_domain, settings.registry_name),
            trust_domain=settings.trust_domain,
            registry_card=f"{base}/.well-known/registry-card.json",
        ),
        currency=settings.settlement_currency,
        exchange=ExchangeOut(enabled=settings.exchange_enabled),
        offers=OffersOut(
            count=found.total,
            newest=[_offer(card, base) for card in found.results if card.did],
            discover=f"{base}/api/v1/agent-cards/discover?pricing=paid&origins={catalogue.LOCAL_ORIGIN}",
            resources=f"{base}/x402/discovery/resources",
        ),
        payment=_payment(settings),
    )


def _offer(card: catalogue.FoundCard, base: str) -> OfferOut:
    assert card.did is not None
    return OfferOut(
        did=card.did,
        name=card.name,
        description=card.description,
        tags=card.tags,
        pricing=card.pricing,
        page=f"{base}/agents/{card.did}",
    )


def _payment(settings: Settings) -> PaymentPathsOut:
    networks = Networks.of(settings)
    at = f"{settings.base_url}/api/v1/a2a-payment"
    return PaymentPathsOut(
        protocols=list(PAYMENT_PROTOCOLS),
        networks=[networks.native, networks.wallet],
        authorize=f"{at}/authorize",
        verify=f"{at}/verify",
        settle=f"{at}/settle",
        quote=f"{at}/quote",
    )
