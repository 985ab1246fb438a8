"""Shapes of statements and of the published fees."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import AwareDatetime, Field

from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.money import format_amount
from hansa.foundation.values.paging import Page, Pagination
from hansa.foundation.values.timestamps import ISO_ONLY
from hansa.rooms.ledger.book import Book

from .records import Direction, Line, StatementFilter


class StatementQuery(LazyModel):
    """Which of the agent's own transactions."""

    limit: int = Field(default=50, ge=1, le=1000)
    offset: int = Field(default=0, ge=0, le=10**9)
    next: str | None = Field(
        default=None, pattern=r"^tx-[0-9]{1,18}$", description="The cursor of the previous page."
    )
    direction: Direction | None = None
    tx_type: str | None = Field(default=None, pattern=r"^[a-z_]{1,40}$")
    counterparty: str | None = Field(default=None, max_length=512)
    since: Annotated[AwareDatetime, ISO_ONLY] | None = None
    until: Annotated[AwareDatetime, ISO_ONLY] | None = None
    format: Literal["json", "csv"] | None = None

    def statement_filter(self) -> StatementFilter:
        """The page that this query asks for."""
        return StatementFilter(
            limit=self.limit,
            offset=self.offset,
            before=int(self.next.removeprefix("tx-")) if self.next else None,
            direction=self.direction,
            tx_type=self.tx_type,
            counterparty=self.counterparty,
            since=self.since,
            until=self.until,
        )


class StatementLine(LazyModel):
    """One of the agent's own transactions. Amounts are decimal strings."""

    transaction_id: str
    tx_type: str
    direction: str = Field(description="`sent` or `received`.")
    counterparty: str | None = Field(
        description="The other account, also one of another registry; null if there is none."
    )
    counterparty_registry: str | None = Field(
        description="The ledger id of the registry that units went to or came from; null within this registry."
    )
    amount: str
    fee_amount: str = Field(description="The fee that this agent paid in addition to the amount.")
    balance_after: str = Field(description="The liquid balance after the transaction.")
    currency: str
    message: str | None
    timestamp: datetime

    @classmethod
    def of(cls, line: Line, currency: str) -> "StatementLine":
        return cls(
            transaction_id=f"tx-{line.tx_id}",
            tx_type=line.tx_type,
            direction=line.direction,
            counterparty=line.counterparty,
            counterparty_registry=line.counterparty_registry,
            amount=format_amount(line.amount),
            fee_amount=format_amount(line.fee),
            balance_after=format_amount(line.balance_after),
            currency=currency,
            message=line.message,
            timestamp=line.recorded_at,
        )


class Statement(Page[StatementLine]):
    """A page of the agent's own transactions, newest first."""

    next: str | None = Field(description="Send it as `next` for the following page; null on the last one.")

    @classmethod
    def of(
        cls, lines: list[Line], total: int, statement_filter: StatementFilter, currency: str
    ) -> "Statement":
        is_full = len(lines) == statement_filter.limit
        return cls(
            items=[StatementLine.of(line, currency) for line in lines],
            pagination=Pagination.of(
                total=total, limit=statement_filter.limit, offset=statement_filter.offset
            ),
            next=f"tx-{lines[-1].tx_id}" if is_full else None,
        )


class FeeConfig(LazyModel):
    """The formula of the transfer fee, which is added to the amount."""

    base_rate_percent: str
    max_rate_percent: str
    velocity_scaling_factor: str = Field(
        description="The turnovers per hour at which the maximum is reached; the rate rises linearly from 1."
    )
    rounding: str
    decimals: int
    currency: str
    fee_collector_address: str

    @classmethod
    def of(cls, book: Book) -> "FeeConfig":
        return cls(
            base_rate_percent=f"{float(book.fees.rate_base * 100):g}",
            max_rate_percent=f"{float(book.fees.rate_max * 100):g}",
            velocity_scaling_factor=f"{float(book.fees.velocity_max):g}",
            rounding="ROUND_HALF_EVEN",
            decimals=8,
            currency=book.currency,
            fee_collector_address=book.fee_collector,
        )


class Fees(FeeConfig):
    """The fee formula, and the balance of the fee collector."""

    collected: str
