"""Stored record of an invitation."""

from dataclasses import dataclass, field
from datetime import datetime

import msgspec


class NewInvite(msgspec.Struct, frozen=True):
    """Invitations about to be written, alike but for their codes; without `lifetime_days` they do not end."""

    author_id: int
    areas: tuple[str, ...]
    max_uses: int
    lifetime_days: int | None
    note: str | None


class Invite(msgspec.Struct, frozen=True):
    """An invitation as administrators see it; the code itself is known to its receiver."""

    id: int
    code_prefix: str
    author_id: int
    author_name: str | None
    note: str | None
    areas: list[str]
    max_uses: int
    uses: int
    created_at: datetime
    expires_at: datetime | None
    state: str


@dataclass(frozen=True)
class MadeInvite:
    """A new invitation with its code, shown this once."""

    code: str = field(repr=False)
    invite: Invite
