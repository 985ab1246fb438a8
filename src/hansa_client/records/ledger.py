"""Answers about balances and transfers."""

from datetime import datetime
from decimal import Decimal

from .record import LineRefusal, Record


class Balance(Record, frozen=True):
    """Units that an agent can spend."""

    agent_id: str
    balance: Decimal


class Transfer(Record, frozen=True):
    """A transfer on this registry. The payer paid `amount` plus `fee_amount`, the payee received `amount`."""

    transaction_id: str
    status: str
    sender_agent_id: str
    receiver_agent_id: str
    amount: Decimal
    fee_amount: Decimal
    currency: str
    new_sender_balance: Decimal
    timestamp: datetime
    message: str | None


class TransferLine(Record, frozen=True):
    """One transfer of `transfer_many`. `key` is its Idempotency-Key: a line that is sent again with it moves units once."""

    receiver_did: str
    amount: Decimal
    key: str
    message: str | None = None


class TransferredLine(Record, frozen=True):
    """Result of one line of `transfer_many`: `completed` with an answer, or `refused` with an error."""

    index: int
    key: str
    status: str
    answer: Transfer | None
    error: LineRefusal | None


class TransferredMany(Record, frozen=True):
    """Results of all lines, in the order of the request."""

    items: list[TransferredLine]
    completed: int
    refused: int


class Sending(Record, frozen=True):
    """Route that a transfer took, or would take (`status` `dry_run`), and its effect."""

    method: str
    status: str
    transfer_id: str | None
    currency_sent: str
    currency_received: str
    amount_received: Decimal
    fee_amount: Decimal
    new_sender_balance: Decimal
    receiver_registry: str
    detail: str


class ApprovalPending(Record, frozen=True):
    """Nothing was moved: the owner of the agent has to approve this payment before `expires_at`."""

    approval_id: str
    receiver_did: str
    amount: Decimal
    currency: str
    expires_at: datetime
    detail: str


class StatementLine(Record, frozen=True):
    """One of the agent's own transactions."""

    transaction_id: str
    tx_type: str
    direction: str
    counterparty: str | None
    counterparty_registry: str | None
    amount: Decimal
    fee_amount: Decimal
    balance_after: Decimal
    currency: str
    message: str | None
    timestamp: datetime


class FeeConfig(Record, frozen=True):
    """The formula of the transfer fee, which is added to the amount."""

    base_rate_percent: Decimal
    max_rate_percent: Decimal
    velocity_scaling_factor: Decimal
    rounding: str
    decimals: int
    currency: str
    fee_collector_address: str
