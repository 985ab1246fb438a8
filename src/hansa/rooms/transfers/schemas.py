"""Shapes of transfer requests and answers."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
from pydantic import Field, model_validator

from hansa.foundation.plumbing.web.idempotency import KEY_PATTERN
from hansa.foundation.values.did import DID_MAX_CHARACTERS
from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.money import PositiveAmount, format_amount, parse_positive
from hansa.foundation.values.request_body import MovesUnits, RequestBody
from hansa.rooms.agents import Approval
from hansa.rooms.ledger import Book, Preview, Receipt, TransferOrder

from .crossing import CrossingView, MinAmountOut, QuoteId

MESSAGE_MAX_CHARACTERS = 256
LINES_MAX = 500


ApprovalId = Annotated[
    UUID | None,
    Field(
        description="The owner's approval of this receiver and amount, as in X-Spend-Approval; valid for one payment."
    ),
]


class TransferIn(LazyModel):
    """A transfer to an agent of this registry."""

    receiver_agent_id: Annotated[str, Field(min_length=1, max_length=DID_MAX_CHARACTERS)]
    amount: PositiveAmount
    message: Annotated[str | None, Field(max_length=MESSAGE_MAX_CHARACTERS)] = None
    approval_id: ApprovalId = None

    def order_by(self, payer: str) -> TransferOrder:
        """The order this request makes when `payer` sends it."""
        return TransferOrder(payer, self.receiver_agent_id, parse_positive(self.amount), self.message)


class TransferOut(LazyModel):
    """What a transfer did. Amounts are decimal strings; the sender paid amount plus fee."""

    transaction_id: str
    status: str = Field(examples=["completed"])
    sender_agent_id: str
    receiver_agent_id: str
    amount: str
    fee_amount: str
    currency: str
    new_sender_balance: str
    timestamp: datetime
    message: str | None

    @staticmethod
    def json_of(receipt: Receipt, order: TransferOrder, currency: str) -> str:
        """The answer that states this receipt, as JSON; a model of it would cost ten times as much on the busiest route."""
        members = {
            "transaction_id": f"tx-{receipt.tx_id}",
            "status": "completed",
            "sender_agent_id": order.payer,
            "receiver_agent_id": order.payee,
            "amount": format_amount(receipt.amount),
            "fee_amount": format_amount(receipt.fee),
            "currency": currency,
            "new_sender_balance": format_amount(receipt.payer_balance_after),
            "timestamp": receipt.recorded_at,
            "message": order.message,
        }
        return msgspec.json.encode(members).decode()


class SendIn(RequestBody):
    """A transfer to an agent of any registry; the registry selects the route."""

    receiver_did: Annotated[str | None, Field(min_length=1, max_length=DID_MAX_CHARACTERS)] = None
    recipient_did: Annotated[
        str | None,
        Field(min_length=1, max_length=DID_MAX_CHARACTERS, description="Another name of receiver_did."),
    ] = None
    amount: PositiveAmount
    message: Annotated[str | None, Field(max_length=MESSAGE_MAX_CHARACTERS)] = None
    dry_run: MovesUnits = False
    backend: Annotated[
        Literal["2pc", "async"] | None,
        Field(description="The method of a cross-registry transfer; a local transfer needs none."),
    ] = None
    min_amount_out: MinAmountOut = None
    quote_id: QuoteId = None
    approval_id: ApprovalId = None

    @model_validator(mode="after")
    def _one_receiver(self) -> "SendIn":
        named = {self.receiver_did, self.recipient_did} - {None}
        if len(named) != 1:
            raise ValueError(
                "receiver_did or recipient_did is required; if both are sent, they must be equal"
            )
        return self

    def order_by(self, payer: str) -> TransferOrder:
        """The order this request makes when `payer` sends it."""
        receiver = self.receiver_did or self.recipient_did
        assert receiver
        return TransferOrder(payer, receiver, parse_positive(self.amount), self.message)


class SendOut(LazyModel):
    """The route of a transfer or dry run, and its result."""

    method: Literal["local", "2pc", "async", "fx"] = Field(
        description="The route: `local` is within this registry; `2pc` and `async` reach another one, `fx` one of another"
        " currency."
    )
    status: Literal["completed", "locked", "dry_run"] = Field(
        description="`locked`: sent to another registry and not decided yet."
    )
    transfer_id: str | None = Field(description="Null for a dry run.")
    currency_sent: str
    currency_received: str
    amount_received: str
    fee_amount: str
    new_sender_balance: str = Field(description="For a dry run, what the balance would be.")
    receiver_registry: str
    detail: str

    @classmethod
    def done(cls, receipt: Receipt, order: TransferOrder, book: Book) -> "SendOut":
        """The response for this receipt."""
        return cls(
            method="local",
            status="completed",
            transfer_id=f"tx-{receipt.tx_id}",
            currency_sent=book.currency,
            currency_received=book.currency,
            amount_received=format_amount(order.amount),
            fee_amount=format_amount(receipt.fee),
            new_sender_balance=format_amount(receipt.payer_balance_after),
            receiver_registry=book.frame,
            detail="The receiver was credited on this registry.",
        )

    @classmethod
    def crossed(cls, crossing: CrossingView) -> "SendOut":
        """The answer that describes a transfer to another registry."""
        assert crossing.balance_after is not None
        is_decided = crossing.state == "committed"
        return cls(
            method=crossing.method,
            status="completed" if is_decided else "locked",
            transfer_id=str(crossing.transfer_id),
            currency_sent=crossing.currency,
            currency_received=crossing.currency_received,
            amount_received=format_amount(crossing.net),
            fee_amount=format_amount(crossing.fee),
            new_sender_balance=format_amount(crossing.balance_after),
            receiver_registry=crossing.receiver_registry,
            detail="The transfer is decided; the receiver's registry credits it."
            if is_decided
            else "The units are reserved; read the outcome from GET /api/v1/teg/transfers/{transfer_id}.",
        )

    @classmethod
    def planned(
        cls, preview: Preview, order: TransferOrder, book: Book, *, needs_approval: bool
    ) -> "SendOut":
        """The answer to a dry run."""
        detail = "The receiver is on this registry; nothing was moved."
        return cls(
            method="local",
            status="dry_run",
            transfer_id=None,
            currency_sent=book.currency,
            currency_received=book.currency,
            amount_received=format_amount(order.amount),
            fee_amount=format_amount(preview.fee),
            new_sender_balance=format_amount(preview.payer_balance_after),
            receiver_registry=book.frame,
            detail=f"{detail} The agent's owner would have to approve." if needs_approval else detail,
        )


class ApprovalNeeded(LazyModel):
    """Nothing was transferred: the agent's owner must approve first. Repeating the same request creates no second approval."""

    approval_id: UUID
    status: Literal["pending"] = "pending"
    receiver_did: str
    amount: str
    currency: str
    expires_at: datetime = Field(description="The owner can decide until this time.")
    detail: str = "The agent's owner has to approve; then repeat the request with approval_id or under the same Idempotency-Key."

    @classmethod
    def of(cls, approval: Approval, currency: str) -> "ApprovalNeeded":
        """The answer to a payment that waits for the owner."""
        return cls(
            approval_id=approval.id,
            receiver_did=approval.payee,
            amount=format_amount(approval.amount),
            currency=currency,
            expires_at=approval.expires_at,
        )


class TransferLine(RequestBody):
    """One transfer of a bulk, with a key of its own."""

    receiver_did: Annotated[str, Field(min_length=1, max_length=DID_MAX_CHARACTERS)]
    amount: PositiveAmount
    message: Annotated[str | None, Field(max_length=MESSAGE_MAX_CHARACTERS)] = None
    key: Annotated[
        str,
        Field(
            pattern=KEY_PATTERN,
            description="As an Idempotency-Key, for this line: repeated within 24 hours, it returns the first answer.",
        ),
    ]

    def order_by(self, payer: str) -> TransferOrder:
        """The order this line makes when `payer` sends it."""
        return TransferOrder(payer, self.receiver_did, parse_positive(self.amount), self.message)


class TransfersIn(RequestBody):
    """Transfers of one payer to agents of this registry."""

    transfers: Annotated[list[TransferLine], Field(min_length=1, max_length=LINES_MAX)]
    atomic: Annotated[MovesUnits, Field(description="Carry out all lines or none of them.")] = False

    @model_validator(mode="after")
    def _keys_differ(self) -> "TransfersIn":
        if len({line.key for line in self.transfers}) < len(self.transfers):
            raise ValueError("two lines have the same key; each line needs a key of its own")
        return self


class LineError(LazyModel):
    """Why a line was refused."""

    code: str
    detail: str
    context: dict[str, Any] | None = None


class TransferLineOut(LazyModel):
    """What became of a line: `answer` when it is completed, `error` when it is refused."""

    index: int = Field(description="The place of the line in the request, from 0.")
    key: str
    status: Literal["completed", "refused"]
    answer: TransferOut | None = None
    error: LineError | None = None


class TransfersOut(LazyModel):
    """What became of each line, in the order of the request."""

    items: list[TransferLineOut]
    completed: int
    refused: int
