"""A request over HTTP as pricing sees it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from urllib.parse import unquote

from hansa_client.receipts import digest_of

from .terms import Order, fingerprint_of, price_of

DECODED_TIMES = 3
"""A server decodes a path once; a proxy before it, or a framework behind it, may do so again."""

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
    root_path: str = ""
    """The path below which the application is mounted; `path` begins with it, or not, as the server has it."""
    raw_path: str | None = None
    """The path as the client sent it."""

    @property
    def paths(self) -> tuple[str, ...]:
        """The forms of the path by which an application may route: whole, and below each part of its mount."""
        known = [
            plain_path(one) for one in (self.path, self.raw_path or self.path, self.root_path + self.path)
        ]
        parts = [part for part in plain_path(self.root_path).split("/") if part]
        mounts = {"/" + "/".join(part) for n in range(1, len(parts) + 1) for part in (parts[:n], parts[-n:])}
        below = [
            path.removeprefix(mount) or "/"
            for path in known
            for mount in mounts
            if f"{path}/".startswith(f"{mount}/")
        ]
        return tuple(dict.fromkeys([*known, *below]))

    def with_body(self, body: bytes) -> "HttpRequest":
        """The same request, once its body was read."""
        return replace(self, body=body)


def _never(_: bytes) -> bool:
    return False


@dataclass(frozen=True)
class Priced:
    """A request that is paid."""

    price: Decimal | None
    """None is the price of the service."""
    order: Order
    is_failure: Callable[[bytes], bool] = _never
    """Judges the body of an answer whose status is that of a success."""


Pricing = Price | Mapping[str, Price] | Callable[[HttpRequest], Price | None]
Select = Callable[[HttpRequest], Priced | None]


def selecting(pricing: "Pricing | Select | None") -> Select:
    """Return the function that selects the paid requests, with their prices."""
    if pricing is None:
        return lambda request: Priced(None, order_of(request))
    if isinstance(pricing, Mapping):
        prices = {plain_path(path): price_of(price) for path, price in pricing.items()}
        return lambda request: _at(_price_at(prices, request), request)
    if callable(pricing):
        return lambda request: _stated(pricing(request), request)
    fixed = price_of(pricing)
    return lambda request: Priced(fixed, order_of(request))


def _price_at(prices: Mapping[str, Decimal], request: HttpRequest) -> Decimal | None:
    """The highest price among the forms of a path: below its mount, and as the client addressed it."""
    stated = [prices.get(plain_path(path)) for path in request.paths]
    return max((price for price in stated if price is not None), default=None)


def plain_path(path: str) -> str:
    """The one form of the paths that an application may serve alike: without case, escapes, empty or dotted segments."""
    for _ in range(DECODED_TIMES):
        path = unquote(path)
    segments: list[str] = []
    for segment in path.replace("\\", "/").casefold().split("/"):
        name = segment.partition(";")[0]
        if name == "..":
            segments = segments[:-1]
        elif name not in {"", "."}:
            segments.append(name)
    return "/" + "/".join(segments)


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
