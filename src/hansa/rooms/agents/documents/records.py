"""What documents are made from."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True)
class ListedKey:
    """A key of an agent; `ended_at` is None while it is the present one."""

    number: int
    public_key: bytes
    ended_at: datetime | None


@dataclass(frozen=True)
class Identity:
    """An agent, or an account of the registry's own, as its documents describe it."""

    did: str
    status: str
    keys: tuple[ListedKey, ...]
    card: dict[str, Any] | None
    """The card, or None for who has none."""

    @property
    def may_act(self) -> bool:
        """Whether its present key speaks for it, and whether it can be called."""
        return self.status == "active"
