"""Shapes of the versions of a card."""

from datetime import datetime
from typing import Any, Self

from pydantic import Field

from hansa.foundation.values.lazy_model import LazyModel

from .records import CardVersion


class CardVersionOut(LazyModel):
    """A current or former document of a card."""

    version: int
    changed_at: datetime = Field(description="The time from which the card had this document.")
    source: str = Field(
        description="`owner`; `pull`: the registry fetched it from the agent's host; `tools`: the MCP server changed its tools."
    )
    card_hash: str = Field(
        description="SHA-256 in hex of the document as the owner or agent supplied it, in the form"
        " sorted-ascii-json/1."
    )

    @classmethod
    def of(cls, version: CardVersion) -> Self:
        """The version as it is answered."""
        return cls(**{name: getattr(version, name) for name in cls.model_fields})


class CardVersionsOut(LazyModel):
    """The stored versions, newest first; the first one is the current document."""

    versions: list[CardVersionOut]


class CardVersionWithDataOut(CardVersionOut):
    """One version with its document as the owner or agent supplied it, without registry data."""

    card_data: dict[str, Any]
