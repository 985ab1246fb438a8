"""Rows that are read and written about contracts beside the contract itself."""

from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from .contract import Terms


class HistoryLine(msgspec.Struct, frozen=True):
    """One move of a contract; without an actor the registry made it."""

    contract_id: int
    act: str
    actor_did: str | None
    milestone: int | None
    note: str | None
    deliverable: dict[str, Any] | None
    at: datetime


class NewContract(msgspec.Struct, frozen=True):
    """A proposal that is written; `provider_registry` where that is another registry."""

    terms: Terms
    currency: str
    created_at: datetime
    provider_registry: str | None = None
    grant_id: UUID | None = None
    first_act: str = "proposed"


class PartPaid(msgspec.Struct, frozen=True):
    """A milestone of a contract, or, without one, the whole of it."""

    contract_id: int
    milestone: int | None


class ContractFilter(msgspec.Struct, frozen=True):
    """Filter of contracts: those of the agent `of` that `reader` may see; None of either sets no bound."""

    of: str | None
    reader: str | None
    role: str | None
    status: str | None
    counterparty: str | None
    is_open: bool
    limit: int
    offset: int
