"""Stored record of an API key."""

from dataclasses import dataclass, field
from datetime import datetime

import msgspec


@dataclass(frozen=True)
class NewKey:
    """A key about to be written; without `ttl_days` it does not end."""

    developer_id: int
    key_hash: bytes = field(repr=False)
    key_prefix: str
    description: str
    scopes: tuple[str, ...]
    ttl_days: int | None
    second_factor_at: datetime | None


class ApiKey(msgspec.Struct, frozen=True):
    """A key as its owner sees it."""

    id: int
    key_prefix: str
    description: str
    is_active: bool
    created_at: datetime
    last_used_at: datetime | None
    scopes: list[str]
    expires_at: datetime | None
    is_reversible: bool
    """True while its revocation may be undone."""
