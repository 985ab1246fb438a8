"""Limits of a model's payments, its quotes, and the texts that it reads. No I/O."""

import threading
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Generic, TypeVar

import msgspec

from hansa_client.amounts import Amount, amount_text
from hansa_client.errors import HansaError, OutcomeUnknown, Refusal, Unreachable
from hansa_client.pay.budget import Budget
from hansa_client.pay.errors import BudgetExceeded
from hansa_client.records.cards import FoundAgent
from hansa_client.records.payments import Purchase

L = TypeVar("L")

DESCRIPTION_CHARACTERS, ANSWER_CHARACTERS = 500, 20_000
QUOTES_MAX = 256
AGENTS_MAX = 20
UNPAID = frozenset({"released", "failed", "expired"})
CODES: dict[type[HansaError], str] = {
    BudgetExceeded: "BUDGET_EXCEEDED",
    OutcomeUnknown: "OUTCOME_UNKNOWN",
    Unreachable: "REGISTRY_UNREACHABLE",
}


class Allowance:
    """Most units for one call and for all calls; fees come on top. Threads may share it.

    An amount is held before its request is sent, so that calls at the same moment do not pass the limit together.
    """

    def __init__(self, per_call: Amount, total: Amount) -> None:
        self._budget = Budget.of(per_call=per_call)
        self._total = Decimal(amount_text(total))
        self._held = Decimal(0)
        self._lock = threading.Lock()

    @property
    def left(self) -> Decimal:
        """The units that may still be paid."""
        return self._total - self._held

    @property
    def spent(self) -> Decimal:
        """The units that are paid, or may be: those of a payment with an unknown outcome are among them."""
        return self._held

    def require(self, price: Decimal) -> None:
        """Raises: BudgetExceeded."""
        self._budget.require_call(price, None)
        if price > self.left:
            raise BudgetExceeded(f"The call costs {price:f}; {self.left:f} of the budget is left.")

    def hold(self, price: Decimal) -> None:
        """Raises: BudgetExceeded."""
        with self._lock:
            self.require(price)
            self._held += price

    def give_back(self, amount: Decimal) -> None:
        """Free an amount that is not paid."""
        with self._lock:
            self._held -= amount


@dataclass
class Offer(Generic[L]):
    """A quoted call. Its price is held while it is paid or may be; `answer` is kept for a repeat."""

    agent: str
    message: str
    price: Decimal
    lock: L
    is_held: bool = False
    answer: str | None = None
    approval_id: str | None = None


@dataclass
class Offers(Generic[L]):
    """The newest quotes of a tool set, by their ids; an id is the Idempotency-Key of its payment."""

    kept: dict[str, Offer[L]] = field(default_factory=dict)

    def keep(self, key: str, offer: Offer[L]) -> None:
        """Add a quote; the oldest one is dropped, and can be paid no more."""
        if len(self.kept) >= QUOTES_MAX:
            self.kept.pop(next(iter(self.kept)), None)
        self.kept[key] = offer


def agents_text(found: list[FoundAgent]) -> str:
    """The agents that a model may call."""
    agents = [
        {
            "agent": one.did,
            "name": one.name,
            "description": one.description[:DESCRIPTION_CHARACTERS],
            "price": None if one.price is None else f"{one.price:f} {one.settlement_currency}",
            "state": one.liveness.state,
        }
        for one in found
        if one.did is not None
    ]
    return _text({"agents": agents}, untrusted=["/agents/*/name", "/agents/*/description"])


def purchase_text(bought: Purchase, left: Decimal) -> str:
    """The answer of a service, cut where it is long, and the end of its payment."""
    answer: Any = bought.answer
    encoded = msgspec.json.encode(answer).decode()
    is_cut = len(encoded) > ANSWER_CHARACTERS
    members = {
        "status": bought.status,
        "price": f"{bought.amount:f} {bought.currency}",
        "answer": encoded[:ANSWER_CHARACTERS] if is_cut else answer,
        "truncated": is_cut,
        "reason": bought.reason,
        "budget_left": f"{left:f}",
    }
    return _text(members, untrusted=["/answer", "/reason"])


def quote_text(key: str, offer: Offer[Any], costs: dict[str, str | None], left: Decimal) -> str:
    """A quote: its id, its costs, and the rest of the budget before it is paid."""
    return _text({"quote": key, "agent": offer.agent, **costs, "budget_left": f"{left:f}"})


def error_text(error: HansaError) -> str:
    """A refusal as a model reads it: a stable code and a sentence."""
    if isinstance(error, Refusal):
        return refused(error.code, error.detail)
    again = " Pay the same quote again: it is paid once." if isinstance(error, OutcomeUnknown) else ""
    return refused(CODES.get(type(error), "FAILED"), f"{error}{again}")


def refused(code: str, detail: str) -> str:
    """An error of the tools."""
    return _text({"error": {"code": code, "detail": detail}})


def _text(members: dict[str, Any], untrusted: list[str] | None = None) -> str:
    # JSON Pointers to all texts of others, as the tools of the registry name them.
    stated = {**members, "untrusted": untrusted} if untrusted else members
    return msgspec.json.encode(stated).decode()
