"""Shapes of transfer requests and answers."""

from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, Field

from hansa.foundation.words.money import PositiveAmount, format_amount, parse_positive
from hansa.rooms.ledger import Receipt, TransferOrder

MESSAGE_MAX_CHARACTERS = 256
DID_MAX_CHARACTERS = 512


class TransferIn(BaseModel):
    """A transfer to an agent of this registry."""

    receiver_agent_id: Annotated[str, Field(min_length=1, max_length=DID_MAX_CHARACTERS)]
    amount: PositiveAmount
    message: Annotated[str | None, Field(max_length=MESSAGE_MAX_CHARACTERS)] = None

    def order_by(self, payer: str) -> TransferOrder:
        """The order this request makes when `payer` sends it."""
        return TransferOrder(payer, self.receiver_agent_id, parse_positive(self.amount), self.message)


class TransferOut(BaseModel):
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

    @classmethod
    def of(cls, receipt: Receipt, order: TransferOrder, currency: str) -> "TransferOut":
        """The answer that tells this receipt."""
        return cls(
            transaction_id=f"tx-{receipt.tx_id}",
            status="completed",
            sender_agent_id=order.payer,
            receiver_agent_id=order.payee,
            amount=format_amount(receipt.amount),
            fee_amount=format_amount(receipt.fee),
            currency=currency,
            new_sender_balance=format_amount(receipt.payer_balance_after),
            timestamp=receipt.recorded_at,
            message=order.message,
        )
