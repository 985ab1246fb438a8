"""What is read and written of contracts beside the contract itself."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from .contract import Terms


@dataclass(frozen=True)
class HistoryLine:
    """One move of a contract; without an actor the registry made it."""

    contract_id: int
    act: str
    actor_did: str | None
    milestone: int | None
    note: str | None
    deliverable: dict[str, Any] | None
    at: datetime


@dataclass(frozen=True)
class NewContract:
    """A proposal that is written; `provider_registry` where that is another registry."""

    terms: Terms
    currency: str
    created_at: datetime
    provider_registry: str | None = None


@dataclass(frozen=True)
class PartPaid:
    """A milestone of a contract, or, without one, the whole of it."""

    contract_id: int
    milestone: int | None


@dataclass(frozen=True)
class ContractFilter:
    """Which contracts: those of the agent `of`, that `reader` may see; None of either sets no bound."""

    of: str | None
    reader: str | None
    role: str | None
    status: str | None
    counterparty: str | None
    is_open: bool
    limit: int
    offset: int
