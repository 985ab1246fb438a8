"""Shapes of transfers to other registries, and of the messages between registries."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from asyncpg import Record
from pydantic import BaseModel, Field

from hansa.foundation.values.did import DID_MAX_CHARACTERS
from hansa.foundation.values.money import PositiveAmount, format_amount, parse_positive
from hansa.foundation.values.request_body import RequestBody
from hansa.rooms.ledger import TransferOrder

from .envelope import MEMO_MAX_CHARACTERS, MESSAGE_MAX_CHARACTERS

MESSAGES_MAX = 500
DOUBT_SECONDS = 60

State = Literal["reserved", "prepared", "committed", "aborted", "in_doubt"]


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
    approval_id: Annotated[
        UUID | None,
        Field(
            description="The owner's approval of this receiver and amount, as in X-Spend-Approval; valid for one payment."
        ),
    ] = None

    def order_by(self, payer: str) -> TransferOrder:
        """The order this request makes when `payer` sends it."""
        return TransferOrder(payer, self.receiver_did, parse_positive(self.amount), self.message)


class CrossRegistryTransferOut(BaseModel):
    """A transfer to another registry. Amounts are decimal strings; the sender pays no fee."""

    transfer_id: UUID
    status: Literal["completed", "locked"] = Field(
        description="`completed`: COMMIT is recorded. `locked`: not decided yet."
    )
    method: Literal["2pc", "async"]
    sender_agent_id: str
    receiver_did: str
    receiver_registry: str
    amount: str
    currency_sent: str
    amount_received: str
    currency_received: str
    fee_amount: str = Field(description="The border fee, which the receiver's registry keeps of the amount.")
    fee_currency: str
    new_sender_balance: str | None
    timestamp: datetime
    message: str | None
    credited_at: datetime | None = Field(
        description="When the receiver's registry confirmed the credit; null before."
    )

    @classmethod
    def of(cls, row: Record) -> "CrossRegistryTransferOut":
        """The answer that describes a transfer that was sent."""
        return cls(
            status="completed" if row["state"] == "committed" else "locked",
            credited_at=row["credited_at"],
            **_parts(row, row["expected_fee"], row["frame"], row["backend"], row["balance_after"]),
        )


class CrossRegistryTransferState(BaseModel):
    """A transfer between two registries as one of its parties sees it."""

    transfer_id: UUID
    state: State = Field(
        description="`in_doubt`: this registry waits for the decision of the other for more than a minute, or was restored."
    )
    decided_at: datetime | None
    reason: str | None = Field(description="Why the transfer was aborted.")
    method: Literal["2pc", "async"]
    sender_agent_id: str
    receiver_did: str
    receiver_registry: str
    amount: str
    currency_sent: str
    amount_received: str
    currency_received: str
    fee_amount: str
    fee_currency: str
    new_sender_balance: str | None
    timestamp: datetime
    message: str | None
    credited_at: datetime | None

    @classmethod
    def sent(cls, row: Record) -> "CrossRegistryTransferState":
        """As its sender sees it."""
        return cls(
            state=row["state"],
            decided_at=row["decided_at"],
            reason=row["code"],
            credited_at=row["credited_at"],
            **_parts(row, row["expected_fee"], row["frame"], row["backend"], row["balance_after"]),
        )

    @classmethod
    def received(cls, row: Record, own_frame: str, now: float) -> "CrossRegistryTransferState":
        """As its receiver sees it."""
        waits = row["state"] == "prepared" and now - row["created_at"].timestamp() > DOUBT_SECONDS
        state = "in_doubt" if waits else "aborted" if row["state"] == "refused" else row["state"]
        return cls(
            state=state,
            decided_at=row["decided_at"],
            reason=row["code"],
            credited_at=row["decided_at"] if row["state"] == "committed" else None,
            **_parts(row, row["fee"], own_frame, "2pc", None),
        )


def _parts(
    row: Record, fee: int, receiver_registry: str, method: str, balance: int | None
) -> dict[str, object]:
    return {
        "transfer_id": row["transfer_id"],
        "method": method,
        "sender_agent_id": row["sender_did"],
        "receiver_did": row["receiver_did"],
        "receiver_registry": receiver_registry,
        "amount": format_amount(row["amount"]),
        "currency_sent": row["currency"],
        "amount_received": format_amount(row["amount"] - fee),
        "currency_received": row["currency"],
        "fee_amount": format_amount(fee),
        "fee_currency": row["currency"],
        "new_sender_balance": None if balance is None else format_amount(balance),
        "timestamp": row["created_at"],
        "message": row["memo"],
    }


class TransferMessagesIn(RequestBody):
    """Signed messages of the calling registry, in any order."""

    messages: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=MESSAGE_MAX_CHARACTERS)]],
        Field(
            min_length=1,
            max_length=MESSAGES_MAX,
            description="Compact JWS by the registry key, typ `fed-transfer+jws`.",
        ),
    ]


class TransferMessagesOut(BaseModel):
    """The signed answers, in any order. A message that is not of the calling registry gets none."""

    messages: list[str]
