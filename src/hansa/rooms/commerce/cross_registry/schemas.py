"""Shapes of the acts of a provider on a contract that another registry holds."""

from typing import Annotated

from pydantic import Field

from hansa.foundation.values.money import PositiveAmount
from hansa.foundation.values.request_body import RequestBody
from hansa.rooms.commerce.contracts.schemas import REGISTRY_MAX_CHARACTERS, Did
from hansa.rooms.commerce.disputes.dispute import ReasonCode
from hansa.rooms.commerce.disputes.schemas import Text

RegistryName = Annotated[str, Field(min_length=1, max_length=REGISTRY_MAX_CHARACTERS)]


class FederatedDisputeIn(RequestBody):
    """A complaint of the provider about a contract that another registry holds."""

    contractor_registry: RegistryName
    defendant_did: Did
    reason_code: ReasonCode
    description: Text
    claimed_amount: PositiveAmount | None = Field(
        default=None, description="Bounds what a ruling gives; absent: the amount of the contract."
    )
