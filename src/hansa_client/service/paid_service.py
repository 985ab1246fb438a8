"""A service that is paid per call, whatever framework it is written in."""

from collections.abc import Callable
from typing import Any

from .a2a import paid_messages
from .asgi import PaidApp
from .paid_calls import PaidCalls
from .requests import Price, Pricing
from .terms import price_of


class PaidService(PaidCalls):
    """One agent that is paid: its registry, those it believes besides, and the store its processes share.

    With `credentials` of the agent it captures payments itself (`capture_by: payee`); without, it only reports its
    outcome and the caller settles.
    """

    def asgi(self, app: Any, price: Pricing | None = None) -> PaidApp:
        """`app` behind a payment.

        `price` is the price of every request, a mapping of paths to prices, a function of the request, or None, which
        is the price of the service. Routes with a `dependency` state their own price: pass `{}` then.
        """
        return PaidApp(app, self, price)

    def a2a(self, app: Any, price: Price | None = None) -> PaidApp:
        """A server of the official A2A SDK behind a payment: sending a message is paid, everything else is free."""
        return PaidApp(app, self, paid_messages(self.price if price is None else price_of(price)))

    def dependency(self, price: Price | None = None) -> Callable[..., Any]:
        """A FastAPI dependency that demands this price; the app itself is wrapped by `service.asgi(app, {})`."""
        from .fastapi_dependency import payment_of

        return payment_of(self.price if price is None else price_of(price))

    def paid(self, price: Price | None = None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """A decorator for tools of an MCP server, below `@server.tool()`."""
        from .mcp_tools import paid_tool

        return paid_tool(self, self.price if price is None else price_of(price))
