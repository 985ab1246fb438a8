"""Keys as they are kept."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class HeldKey:
    """One key of an agent: what it signed counts from `valid_from` until `valid_until`, if that has come."""

    number: int
    public_key: bytes
    valid_from: datetime
    valid_until: datetime | None
