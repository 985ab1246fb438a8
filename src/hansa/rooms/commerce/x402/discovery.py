"""The priced agents of this registry, as x402 lists resources."""

from decimal import ROUND_CEILING
from typing import Any

from hansa.foundation.plumbing.storage.database import Database
from hansa.foundation.values import ethereum
from hansa.foundation.values.money import AMOUNT_MAX_UNITS, DECIMALS
from hansa.rooms import agents, catalogue

from .networks import Networks
from .schemas import (
    AcceptedPayment,
    DiscoveredPagination,
    DiscoveredResource,
    DiscoveredResourcesOut,
    native_extra,
    wallet_extra,
)


async def discover_resources(
    searcher: catalogue.Searcher, database: Database, networks: Networks, page: DiscoveredPagination
) -> DiscoveredResourcesOut:
    """A page of the agents that state a price. Raises: SearchNotReady, Unavailable."""
    query = catalogue.SearchQuery(
        origins=(catalogue.LOCAL_ORIGIN,),
        pricing="paid",
        agents_only=True,
        sort="newest",
        limit=page.limit,
        offset=page.offset,
    )
    found = await catalogue.discover(searcher, database, query)
    return DiscoveredResourcesOut(
        items=[_resource(card, networks) for card in found.results if card.did],
        pagination=page.model_copy(update={"total": found.total}),
    )


def _resource(card: catalogue.FoundCard, networks: Networks) -> DiscoveredResource:
    assert card.did is not None
    return DiscoveredResource(
        resource=f"{networks.authority}/agents/{card.did}",
        accepts=accepted_payments(card.did, card.pricing, networks),
        last_updated=int(card.updated_at.timestamp()),
        metadata={
            "did": card.did,
            "name": card.name,
            "description": card.description,
            "tags": card.tags,
            "pricing": card.pricing,
        },
    )


def accepted_payments(did: str, stated: dict[str, Any] | None, networks: Networks) -> list[AcceptedPayment]:
    """How the agent is paid; a price in another currency is not one of these networks."""
    amount = _amount(stated, networks.currency)
    if amount is None:
        return []
    receive = ethereum.checksum_address(agents.receive_address(did))
    return [
        AcceptedPayment(
            network=networks.wallet,
            amount=amount,
            asset=networks.asset,
            pay_to=receive,
            extra=wallet_extra(networks),
        ),
        AcceptedPayment(
            network=networks.native,
            amount=amount,
            asset=networks.currency,
            pay_to=did,
            extra=native_extra(networks),
        ),
    ]


def _amount(stated: dict[str, Any] | None, currency: str) -> str | None:
    """The price in minor units, rounded up; None for one in another currency or out of bounds."""
    rate = catalogue.rate_of(stated)
    if not rate or stated is None:
        return None
    priced_in = stated.get("currency")
    if isinstance(priced_in, str) and priced_in.strip().upper() not in {"", currency}:
        return None
    if rate > AMOUNT_MAX_UNITS:
        return None
    return str(int(rate.scaleb(DECIMALS).to_integral_value(ROUND_CEILING)))
