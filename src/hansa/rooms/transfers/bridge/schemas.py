"""Shapes of the bridge: for agents, and of the messages between registries."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from hansa.foundation.values.did import DID_MAX_CHARACTERS
from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.money import Minor, PositiveAmount, format_amount
from hansa.foundation.values.request_body import RequestBody

from .envelope import MESSAGE_MAX_CHARACTERS
from .reading import SagaView

MESSAGES_MAX = 500

ReceiverDid = Annotated[str, Field(min_length=1, max_length=DID_MAX_CHARACTERS)]
WrappedCurrency = Annotated[
    str,
    Field(
        pattern=r"^[A-Z0-9]{2,8}\.[a-z0-9.-]{1,255}$",
        examples=["AVT.registry.example.org"],
        description="`<CODE>.<trust domain of the registry where the units are locked>`.",
    ),
]
SagaStateName = Literal[
    "LOCKED",
    "MINT_REQUESTED",
    "BURNED",
    "UNLOCK_REQUESTED",
    "TIMED_OUT",
    "COMPLETED",
    "REFUNDED",
    "FAILED",
    "IN_DOUBT",
]


Approval = Annotated[
    UUID | None,
    Field(
        description="The owner's approval of this receiver and amount, as in X-Spend-Approval; valid for one payment."
    ),
]


class BridgeTransferIn(RequestBody):
    """Units of this registry, to be held wrapped by an agent of another one."""

    receiver_did: ReceiverDid
    amount: PositiveAmount
    approval_id: Approval = None


class BridgeRedeemIn(RequestBody):
    """Wrapped units, to be unlocked for an agent of their home registry."""

    wrapped_currency: WrappedCurrency
    amount: PositiveAmount
    receiver_did: ReceiverDid
    approval_id: Approval = None


class BridgeStepIn(RequestBody):
    """The saga whose step is tried again."""

    saga_id: UUID


class BridgeSagaOut(LazyModel):
    """A saga as it stands. Amounts are decimal strings; the bridge takes no fee."""

    saga_id: UUID
    state: SagaStateName
    amount: str
    currency: str = Field(examples=["AVT"])
    wrapped_currency: str = Field(examples=["AVT.registry.example.org"])
    expires_at: datetime | None = Field(
        description="After this the other registry is asked to cancel; its signed answer decides."
    )

    @classmethod
    def of(cls, saga: SagaView) -> "BridgeSagaOut":
        """The answer that describes this saga."""
        return cls.model_validate(
            {
                "saga_id": saga.saga_id,
                "state": saga.state,
                "amount": format_amount(saga.amount),
                "currency": saga.currency,
                "wrapped_currency": saga.wrapped_currency,
                "expires_at": saga.expires_at,
            }
        )


class BridgeStepOut(LazyModel):
    """A state that the saga passed."""

    state: str = Field(examples=["LOCKED"])
    at: datetime


class BridgeStatusOut(LazyModel):
    """A saga as one of its parties sees it."""

    saga_id: UUID
    direction: Literal["wrap", "redeem"]
    state: SagaStateName
    reason: str | None = Field(description="The code with which the other registry refused or cancelled.")
    amount: str
    currency: str
    wrapped_currency: str
    sender_did: str
    receiver_did: str
    source: str = Field(description="The ledger id of the registry where the saga began.")
    destination: str
    history: list[BridgeStepOut]
    updated_at: datetime

    @classmethod
    def of(cls, saga: SagaView) -> "BridgeStatusOut":
        """The answer that describes this saga."""
        return cls.model_validate(
            {
                "saga_id": saga.saga_id,
                "direction": saga.direction.value,
                "state": saga.state,
                "reason": saga.reason,
                "amount": format_amount(saga.amount),
                "currency": saga.currency,
                "wrapped_currency": saga.wrapped_currency,
                "sender_did": saga.sender_did,
                "receiver_did": saga.receiver_did,
                "source": saga.source,
                "destination": saga.destination,
                "history": saga.history,
                "updated_at": saga.updated_at,
            }
        )


class WrappedHolding(LazyModel):
    """Wrapped units of one home that an agent holds."""

    wrapped_currency: str = Field(examples=["AVT.registry.example.org"])
    amount: str


class WrappedHoldings(LazyModel):
    """What an agent holds of units of other registries. Amounts are decimal strings."""

    items: list[WrappedHolding]

    @classmethod
    def of(cls, held: list[tuple[str, Minor]]) -> "WrappedHoldings":
        """The answer that lists these units."""
        return cls(
            items=[
                WrappedHolding(wrapped_currency=name, amount=format_amount(amount)) for name, amount in held
            ]
        )


class BridgeMessagesIn(RequestBody):
    """Signed messages of the calling registry, in any order."""

    messages: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=MESSAGE_MAX_CHARACTERS)]],
        Field(
            min_length=1,
            max_length=MESSAGES_MAX,
            description="Compact JWS by the registry key, typ `fed-bridge+jws`.",
        ),
    ]


class BridgeMessagesOut(LazyModel):
    """The signed answers, in any order. A message that is not of the calling registry gets none."""

    messages: list[str]
