# Generated from hansa_client/tools/asynchronous/buying.py by `python -m tests.house.synchronous`.
"""Tools by which a model buys calls. Their names, arguments and docstrings are those that the model sees."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from hansa_client import Registry
from hansa_client.amounts import Amount
from hansa_client.calls import new_key
from hansa_client.errors import HansaError, OutcomeUnknown, Refusal
from hansa_client.primitives import Lock
from hansa_client.records.payments import Purchase
from hansa_client.tools.offers import (
    AGENTS_MAX,
    UNPAID,
    Allowance,
    Offer,
    Offers,
    agents_text,
    error_text,
    purchase_text,
    quote_text,
    refused,
)


class BuyingTools:
    """Tools of a model that buys as the agent of `registry`: each returns a JSON text, a refusal too.

    The price of one call is at most `per_call`, and that of all calls of this object at most `total`; the registry adds its fee.
    The limits hold whatever the model asks for; those of the registry, such as the spend policy of the agent, hold besides.
    """

    def __init__(self, registry: Registry, *, per_call: Amount, total: Amount) -> None:
        self._registry = registry
        self._allowance = Allowance(per_call, total)
        self._offers: Offers[Lock] = Offers()

    @property
    def spent(self) -> Decimal:
        """The units that are paid, or may be, where an outcome is unknown."""
        return self._allowance.spent

    @property
    def functions(self) -> tuple[Callable[..., Any], ...]:
        """The tools, in the order in which a model needs them."""
        return self.find_agents, self.quote_call, self.pay_call

    def find_agents(self, query: str, limit: int = 5) -> str:
        """Find agents of the registry by words, best match first, with their prices. The value `agent` names one in a quote."""
        try:
            found = self._registry.discovery.find(query, limit=min(max(limit, 1), AGENTS_MAX))
        except HansaError as error:
            return error_text(error)
        return agents_text(found.results)

    def quote_call(self, agent: str, message: str) -> str:
        """Price one call of an agent with this message. Nothing is paid: pay the returned quote with pay_call."""
        try:
            quoted = self._registry.payments.quote(agent)
            if not quoted.amount:
                return refused("PRICE_NOT_PAYABLE", f"The agent {agent} states no price.")
            self._allowance.require(quoted.amount)
        except HansaError as error:
            return error_text(error)
        key, offer = new_key(), Offer(agent, message, quoted.amount, Lock())
        self._offers.keep(key, offer)
        costs = {
            name: None if amount is None else f"{amount:f} {quoted.currency}"
            for name, amount in (("price", quoted.amount), ("fee", quoted.fee), ("total", quoted.total))
        }
        return quote_text(key, offer, costs, self._allowance.left)

    def pay_call(self, quote: str) -> str:
        """Pay a quote of quote_call, let the agent do the work, and return its answer. A quote is paid once, however often it is sent."""
        offer = self._offers.kept.get(quote)
        if offer is None:
            return refused("QUOTE_UNKNOWN", "There is no such quote: call quote_call first.")
        with offer.lock:
            if offer.answer is None:
                try:
                    bought = self._bought(quote, offer)
                except HansaError as error:
                    return error_text(error)
                offer.answer = purchase_text(bought, self._allowance.left)
            return offer.answer

    def _bought(self, key: str, offer: Offer[Lock]) -> Purchase:
        """The purchase under the id of its quote. Raises: HansaError."""
        # An earlier attempt with an unknown outcome holds the price until the registry shows the outcome.
        may_be_paid = offer.is_held
        if not may_be_paid:
            self._allowance.hold(offer.price)
            offer.is_held = True
        try:
            bought = self._registry.payments.buy(
                offer.agent,
                offer.message,
                max_amount=offer.price,
                approval_id=offer.approval_id,
                key=key,
            )
        except OutcomeUnknown:
            raise
        except HansaError as error:
            if isinstance(error, Refusal):
                offer.approval_id = error.context.get("approval_id") or offer.approval_id
            if not may_be_paid:
                self._allowance.give_back(offer.price)
                offer.is_held = False
            raise
        paid = Decimal(0) if bought.status in UNPAID else min(bought.amount, offer.price)
        self._allowance.give_back(offer.price - paid)
        return bought
