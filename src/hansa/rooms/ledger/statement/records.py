"""Filter of a statement, and a line of it."""

from datetime import datetime
from typing import Literal

import msgspec

Direction = Literal["sent", "received"]


class StatementFilter(msgspec.Struct, frozen=True):
    """Filter of transactions; `before` is the id that the page begins below."""

    limit: int
    offset: int = 0
    before: int | None = None
    direction: Direction | None = None
    tx_type: str | None = None
    counterparty: str | None = None
    since: datetime | None = None
    until: datetime | None = None


class Line(msgspec.Struct, frozen=True):
    """One transaction as its account sees it; amounts in minor units, the fee only where this account paid it.

    `counterparty_registry` is the ledger id of the registry to or from which units crossed.
    """

    tx_id: int
    tx_type: str
    direction: str
    counterparty: str | None
    counterparty_registry: str | None
    amount: int
    fee: int
    balance_after: int
    message: str | None
    recorded_at: datetime
