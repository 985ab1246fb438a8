"""Records of a developer for administrators."""

from collections.abc import Sequence
from datetime import datetime

import msgspec


class FoundDeveloper(msgspec.Struct, frozen=True):
    """A developer in a list of administrators; without secrets, and without the address of a closed account."""

    id: int
    name: str
    email: str
    is_verified: bool
    has_second_factor: bool
    areas: Sequence[str]
    created_at: datetime
    closed_at: datetime | None
