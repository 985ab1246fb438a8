"""Settlements as they are kept."""

from collections.abc import Mapping
from typing import Any

import msgspec

from .settlement import Settlement


class Kept(msgspec.Struct, frozen=True):
    """Settlement with the data that its acts need: the peer's SPIFFE id, its ledger id, and the row as it is shown."""

    settlement_id: int
    settlement: Settlement
    peer: str
    frame: str
    row: Mapping[str, Any]
