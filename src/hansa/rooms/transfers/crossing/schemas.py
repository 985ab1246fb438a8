"""Shapes of transfers to other registries, and of the messages between registries."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, Field, StrictBool

from hansa.foundation.values.did import DID_MAX_CHARACTERS
from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.money import PositiveAmount, format_amount, parse_positive
from hansa.foundation.values.request_body import RequestBody
from hansa.rooms.ledger import TransferOrder

from .envelope import MEMO_MAX_CHARACTERS, MESSAGE_MAX_CHARACTERS
from .messages import MESSAGES_MAX
from .records import Bounds, CrossingView

State = Literal["reserved", "prepared", "committed", "aborted", "in_doubt"]


MinAmountOut = Annotated[
    PositiveAmount | None,
    Field(
        description="For a receiver of another currency: the least that it must receive, in its currency. Without it and"
        " without quote_id it is the spot price less slippage_max."
    ),
]
QuoteId = Annotated[
    UUID | None,
    Field(description="A quote of POST /api/v1/teg/fx/quote: the receiver gets at least its amount_out."),
]


class CrossRegistryTransferIn(RequestBody):
    """A transfer to an agent of another registry."""

    receiver_did: Annotated[str, Field(min_length=1, max_length=DID_MAX_CHARACTERS)]
    amount: PositiveAmount
    message: Annotated[str | None, Field(max_length=MEMO_MAX_CHARACTERS)] = None
    backend: Annotated[
        Literal["2pc", "async"] | None,
        Field(
            description="`2pc` returns after the decision, `async` at once. Without it TEG_CROSS_FRAME_BACKEND decides."
        ),
    ] = None
    min_amount_out: MinAmountOut = None
    quote_id: QuoteId = None
    approval_id: Annotated[
        UUID | None,
        Field(
            description="The owner's approval of this receiver and amount, as in X-Spend-Approval; valid for one payment."
        ),
    ] = None

    def order_by(self, payer: str) -> TransferOrder:
        """The order this request makes when `payer` sends it."""
        return TransferOrder(payer, self.receiver_did, parse_positive(self.amount), self.message)

    @property
    def bounds(self) -> Bounds:
        """Amount that a swap has to pay."""
        return bounds_of(self.min_amount_out, self.quote_id)


def bounds_of(min_amount_out: str | None, quote_id: UUID | None) -> Bounds:
    """The bounds that a request states."""
    return Bounds(None if min_amount_out is None else parse_positive(min_amount_out), quote_id)


def not_compared(body: BaseModel) -> set[str]:
    """Return the members that an Idempotency-Key does not cover: approvals, and bounds of a swap that are not stated."""
    declared = body.__dict__
    left_out = {"approval_id"}
    if declared.get("min_amount_out") is None:
        left_out.add("min_amount_out")
    if declared.get("quote_id") is None:
        left_out.add("quote_id")
    return left_out


class _Crossing(LazyModel):
    transfer_id: UUID
    method: Literal["2pc", "async", "fx"] = Field(description="`fx`: swapped into the receiver's currency.")
    sender_agent_id: str
    receiver_did: str
    receiver_registry: str
    amount: str
    currency_sent: str
    amount_received: str
    currency_received: str
    fee_amount: str = Field(
        description="The border fee, which the receiver's registry keeps of the amount; of a swap, what stays in the pool."
    )
    fee_currency: str
    new_sender_balance: str | None
    timestamp: datetime
    message: str | None
    credited_at: datetime | None = Field(
        description="When the receiver's registry confirmed the credit; null before."
    )


class CrossRegistryTransferOut(_Crossing):
    """A transfer to another registry. Amounts are decimal strings; the sender pays no fee."""

    status: Literal["completed", "locked"] = Field(
        description="`completed`: COMMIT is recorded. `locked`: not decided yet."
    )

    @classmethod
    def of(cls, crossing: CrossingView) -> "CrossRegistryTransferOut":
        """The answer that describes a transfer that was sent."""
        return cls(status="completed" if crossing.state == "committed" else "locked", **_members(crossing))


class CrossRegistryTransferState(_Crossing):
    """A transfer between two registries as one of its parties sees it."""

    state: State = Field(
        description="`in_doubt`: this registry waits for the decision of the other for more than a minute, or was restored."
    )
    decided_at: datetime | None
    reason: str | None = Field(description="Why the transfer was aborted.")

    @classmethod
    def of(cls, crossing: CrossingView) -> "CrossRegistryTransferState":
        """The answer that describes this transfer."""
        return cls(
            state=crossing.state,
            decided_at=crossing.decided_at,
            reason=crossing.code,
            **_members(crossing),
        )


def _members(crossing: CrossingView) -> dict[str, Any]:
    balance = crossing.balance_after
    return {
        "transfer_id": crossing.transfer_id,
        "method": crossing.method,
        "sender_agent_id": crossing.sender_did,
        "receiver_did": crossing.receiver_did,
        "receiver_registry": crossing.receiver_registry,
        "amount": format_amount(crossing.amount),
        "currency_sent": crossing.currency,
        "amount_received": format_amount(crossing.net),
        "currency_received": crossing.currency_received,
        "fee_amount": format_amount(crossing.fee),
        "fee_currency": crossing.currency_received,
        "new_sender_balance": None if balance is None else format_amount(balance),
        "timestamp": crossing.created_at,
        "message": crossing.memo,
        "credited_at": crossing.credited_at,
    }


class TransferMessagesIn(RequestBody):
    """Signed messages of the calling registry, in any order."""

    messages: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=MESSAGE_MAX_CHARACTERS)]],
        Field(
            min_length=1,
            max_length=MESSAGES_MAX,
            description="Compact JWS by the registry key, typ `fed-transfer+jws`: of one transfer each, or of several in"
            " `transfers` (PREPARE and the confirmation of receipts) for a registry whose last answer has reads_transfers. They are about at most 500 transfers together.",
        ),
    ]

    reads_transfers: Annotated[
        StrictBool,
        Field(
            description="Whether the calling registry reads texts with `transfers`: answers may then have them."
        ),
    ] = False


class TransferMessagesOut(LazyModel):
    """The signed answers, in any order. A message that is not of the calling registry gets none."""

    messages: list[str]
    reads_transfers: bool = Field(
        description="Whether this registry reads texts with `transfers`: the next requests may then have them."
    )
