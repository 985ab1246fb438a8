"""A request over HTTP as pricing sees it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal

from hansa_client.receipts import digest_of

from .terms import Order, fingerprint_of, price_of

Price = str | Decimal | int


@dataclass(frozen=True)
class HttpRequest:
    """A request whose body was read."""

    method: str
    path: str
    query: str
    url: str
    """Without the query."""
    headers: Mapping[str, str]
    body: bytes

    def with_body(self, body: bytes) -> "HttpRequest":
        """The same request, once its body was read."""
        return replace(self, body=body)


@dataclass(frozen=True)
class Priced:
    """A request that is paid."""

    price: Decimal | None
    """None is the price of the service."""
    order: Order


Pricing = Price | Mapping[str, Price] | Callable[[HttpRequest], Price | None]
Select = Callable[[HttpRequest], Priced | None]


def selecting(pricing: "Pricing | Select | None") -> Select:
    """Which requests are paid, and at what price."""
    if pricing is None:
        return lambda request: Priced(None, order_of(request))
    if isinstance(pricing, Mapping):
        prices = {path: price_of(price) for path, price in pricing.items()}
        return lambda request: _at(prices.get(request.path), request)
    if callable(pricing):
        return lambda request: _stated(pricing(request), request)
    fixed = price_of(pricing)
    return lambda request: Priced(fixed, order_of(request))


def _at(price: Decimal | None, request: HttpRequest) -> Priced | None:
    return None if price is None else Priced(price, order_of(request))


def _stated(price: "Price | Priced | None", request: HttpRequest) -> Priced | None:
    if price is None or isinstance(price, Priced):
        return price
    return Priced(price_of(price), order_of(request))


def order_of(request: HttpRequest) -> Order:
    """The whole request is the order: the same token with another one is refused."""
    parts = (request.method, request.path, request.query)
    return Order(
        fingerprint=fingerprint_of(*(part.encode() for part in parts), request.body),
        body_digest=digest_of(request.body),
        resources=frozenset({request.url, request.path, f"{request.url}?{request.query}"}),
    )
