"""Why a call was not paid, or not answered."""

from collections.abc import Mapping
from typing import Any

from hansa_client.errors import HansaError


class OfferDeclined(HansaError):
    """Nothing was paid: the terms of the service contradict the payee's signed card, or are not acceptable."""


class BudgetExceeded(OfferDeclined):
    """Nothing was paid: the price is above the budget of this client."""


class PaymentFailed(HansaError):
    """Nothing was paid: the registry did not authorize the payment, or the service was not reached."""


class PaymentRefused(HansaError):
    """The service did not accept the payment; it was released. `problem` is the service's document."""

    def __init__(self, sentence: str, status: int, problem: Mapping[str, Any]) -> None:
        super().__init__(sentence)
        self.status = status
        self.problem = dict(problem)


class PaymentUnresolved(HansaError):
    """It is not known whether the call was answered. Make the same call again: it continues with the same token.

    `payment_id` names the payment in the journal.
    """

    def __init__(self, sentence: str, payment_id: str) -> None:
        super().__init__(f"{sentence} The payment {payment_id} is pending.")
        self.payment_id = payment_id


class AnswerLost(HansaError):
    """The payment is settled, and the service does not return the answer again. Nothing more is paid."""


class PaymentInProgress(HansaError):
    """Another request of a running program pays for this `call_id`."""
