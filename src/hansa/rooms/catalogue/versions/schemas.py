"""Shapes of the versions of a card."""

from datetime import datetime
from typing import Any, Self

from pydantic import BaseModel, Field

from .records import CardVersion


class CardVersionOut(BaseModel):
    """A document that a card had or has."""

    version: int
    changed_at: datetime = Field(description="Since when the card had this document.")
    source: str = Field(
        description="`owner`, or `pull`: the registry read it where the agent serves its own card."
    )
    card_hash: str = Field(
        description="SHA-256, in hex, of the document as the owner or the agent gave it, in the form"
        " sorted-ascii-json/1."
    )

    @classmethod
    def of(cls, version: CardVersion) -> Self:
        """The version as it is answered."""
        return cls(**{name: getattr(version, name) for name in cls.model_fields})


class CardVersionsOut(BaseModel):
    """The versions that are kept, the newest first; the first one is the card as it stands."""

    versions: list[CardVersionOut]


class CardVersionWithDataOut(CardVersionOut):
    """One version with its document, as the owner or the agent gave it: nothing that the registry says is added."""

    card_data: dict[str, Any]
