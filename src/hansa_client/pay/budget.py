"""Limits on the payments that a program makes by itself."""

from dataclasses import dataclass, replace
from decimal import Decimal

from hansa_client.amounts import Amount, amount_text

from .errors import BudgetExceeded


@dataclass(frozen=True)
class Budget:
    """Most units for one call, for a day (UTC), and for one payee a day; None is no limit. Fees come on top."""

    per_call: Decimal | None = None
    per_day: Decimal | None = None
    per_payee: Decimal | None = None

    @classmethod
    def of(
        cls, *, per_call: Amount | None = None, per_day: Amount | None = None, per_payee: Amount | None = None
    ) -> "Budget":
        """Limits as decimal strings or numbers. Raises: TypeError, ValueError."""
        return cls(_limit(per_call), _limit(per_day), _limit(per_payee))

    def with_per_call(self, per_call: Amount) -> "Budget":
        """The same budget with this limit for one call."""
        return replace(self, per_call=_limit(per_call))

    def require_call(self, amount: Decimal, max_amount: Decimal | None) -> None:
        """Raises: BudgetExceeded."""
        limits = [limit for limit in (self.per_call, max_amount) if limit is not None]
        if not limits:
            raise BudgetExceeded(
                "State the most this call may cost: `max_amount`, or `per_call` of the budget."
            )
        if amount > min(limits):
            raise BudgetExceeded(f"The call costs {amount}; at most {min(limits)} is allowed.")

    @property
    def is_of_a_day(self) -> bool:
        """Return whether it depends on earlier payments."""
        return self.per_day is not None or self.per_payee is not None

    def require_day(self, amount: Decimal, spent: Decimal, spent_on_payee: Decimal) -> None:
        """Raises: BudgetExceeded."""
        if self.per_day is not None and spent + amount > self.per_day:
            raise BudgetExceeded(
                f"The call costs {amount}; {self.per_day - spent} of today's budget is left."
            )
        if self.per_payee is not None and spent_on_payee + amount > self.per_payee:
            left = self.per_payee - spent_on_payee
            raise BudgetExceeded(f"The call costs {amount}; {left} of today's budget for this payee is left.")


def _limit(amount: Amount | None) -> Decimal | None:
    return None if amount is None else Decimal(amount_text(amount))
