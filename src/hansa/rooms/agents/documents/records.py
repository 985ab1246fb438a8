"""Records that documents are made from."""

from datetime import datetime
from typing import Any

import msgspec


class ListedKey(msgspec.Struct, frozen=True):
    """A key of an agent; `ended_at` is None while it is the present one."""

    number: int
    public_key: bytes
    ended_at: datetime | None


class Identity(msgspec.Struct, frozen=True):
    """An agent, or an account of the registry's own, as its documents describe it."""

    did: str
    status: str
    keys: tuple[ListedKey, ...]
    card: dict[str, Any] | None
    """The card, or None for who has none."""

    @property
    def may_act(self) -> bool:
        """Return whether its present key speaks for it, and whether it can be called."""
        return self.status == "active"
