"""Answers about payment tokens."""

from datetime import datetime
from decimal import Decimal
from typing import Any, ClassVar

from .record import LineRefusal, Record


class AuthorizedToken(Record, frozen=True):
    """A payment token; `token` is returned this once, and travels in the header that `issuer_header` names the issuer by."""

    secrets: ClassVar = frozenset({"token"})

    token: str
    token_id: str
    amount: Decimal
    currency: str
    target_agent_did: str
    expires_at: datetime
    contract_id: int | None
    issuer: str
    issuer_header: str
    capture_by: str = "caller"
    reserved: bool = False
    resource: str | None = None
    request_digest: str | None = None


class PaymentQuote(Record, frozen=True):
    """Cost of a payment to an agent now; None where the price is not known in the registry's unit.

    `source` says where the card states the price: `legacy`, `extension` or `none`. `quote_token` is that of a firm quote:
    `authorize` takes it once, with this amount, until `expires_at`. `amount_received` is the amount that the payee gets: less than
    `amount`, where its registry takes a border fee.
    """

    secrets: ClassVar = frozenset({"quote_token"})

    target_agent_did: str
    price: Decimal | None
    price_currency: str
    amount: Decimal | None
    currency: str
    rate: Decimal | None
    fee: Decimal | None
    total: Decimal | None
    pricing_model: str | None
    source: str
    expires_at: datetime
    quote_token: str | None = None
    amount_received: Decimal | None = None


class Verification(Record, frozen=True):
    """The verdict on a payment token. `first_use` is true for the verification that consumed it."""

    valid: bool
    token_id: str | None
    caller_did: str | None
    target_agent_did: str | None
    amount: Decimal | None
    contract_id: int | None
    expires_at: datetime | None
    currency: str | None
    status: str | None
    error: str | None
    first_use: bool | None = None
    first_use_id: str | None = None
    resource: str | None = None
    request_digest: str | None = None
    capture_by: str | None = None
    reserved: bool | None = None
    caller_status: str | None = None
    settled_by: str | None = None


class Settlement(Record, frozen=True):
    """Outcome of a token: `settled`, `failed` with `reason`, `released`, or `settling` while it is not known yet."""

    token_id: str
    status: str
    settlement_tx_id: str | None
    amount: Decimal
    currency: str
    caller_did: str
    target_agent_did: str
    reason: str | None = None


class Purchase(Record, frozen=True):
    """Call that the registry paid for and made: the answer of the service, and the end of its token.

    `answer` None: the service did not answer in time, or its answer was lost; `reason` says why nothing was paid.
    """

    token_id: str
    status: str
    settlement_tx_id: str | None
    amount: Decimal
    currency: str
    target_agent_did: str
    answer: Any = None
    task_id: str | None = None
    reason: str | None = None


class TokenToSettle(Record, frozen=True):
    """One token of `settle_many`; with `success` False it is freed."""

    secrets: ClassVar = frozenset({"token"})

    token: str
    task_id: str | None = None
    success: bool = True


class SettledLine(Record, frozen=True):
    """Result of one token of `settle_many`: `completed` with an answer, or `refused` with an error."""

    index: int
    status: str
    answer: Settlement | None
    error: LineRefusal | None


class SettledMany(Record, frozen=True):
    """Results of all tokens, in the order of the request."""

    items: list[SettledLine]
    completed: int
    refused: int


class ReleasedToken(Record, frozen=True):
    """A token that was released; nothing was paid."""

    token_id: str
    status: str


class ListedToken(Record, frozen=True):
    """One of the agent's tokens; `reason` says why its settlement failed."""

    token_id: str
    target_agent_did: str
    amount: Decimal
    currency: str
    status: str
    contract_id: int | None
    created_at: datetime
    expires_at: datetime
    settled_at: datetime | None
    caller_did: str | None = None
    capture_by: str = "caller"
    reserved: bool = False
    settlement_tx_id: str | None = None
    reason: str | None = None
