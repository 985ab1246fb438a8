"""A FastAPI dependency that demands a payment: `Annotated[PaidCall, Depends(service.dependency("0.05"))]`."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from decimal import Decimal

from starlette.exceptions import HTTPException
from starlette.requests import Request

from .admission import Stored, Working
from .asgi import SCOPE_KEY
from .terms import Facts, price_of


@dataclass(frozen=True)
class PaidCall:
    """The payment of the call, as a route sees it."""

    working: Working

    @property
    def facts(self) -> Facts:
        """Payer and amount."""
        return self.working.facts

    def capture(self, amount: str | Decimal) -> None:
        """Capture less than the token is worth; only where the service captures."""
        self.working.capture_amount = price_of(amount)


def payment_of(price: Decimal | None) -> Callable[[Request], Awaitable[PaidCall]]:
    """The dependency for one price."""

    async def paid_call(request: Request) -> PaidCall:
        payment = request.scope.get(SCOPE_KEY)
        if payment is None:
            raise RuntimeError("wrap the application: app = service.asgi(app, {})")
        decision = await payment.demand_price(price)
        if isinstance(decision, Working):
            return PaidCall(decision)
        # Ends the route; the wrapped application sends the decision itself.
        raise HTTPException(200 if isinstance(decision, Stored) else decision.status)

    return paid_call
