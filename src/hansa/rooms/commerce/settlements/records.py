"""Settlements as they are kept."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .settlement import Settlement


@dataclass(frozen=True)
class Kept:
    """A settlement with what its acts need: the peer's SPIFFE id, its ledger id, and the row as it is shown."""

    settlement_id: int
    settlement: Settlement
    peer: str
    frame: str
    row: Mapping[str, Any]
