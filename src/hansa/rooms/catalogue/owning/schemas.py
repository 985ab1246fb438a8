"""Shapes of what an owner says of a card."""

from typing import Any

from pydantic import BaseModel, Field, StrictBool

from hansa.foundation.values.did import DID_MAX_CHARACTERS

from .create import NewCardRequest
from .edit import CardEdit


class CreateCardIn(BaseModel):
    """A new card, for an own agent or for none."""

    card_data: dict[str, Any] = Field(description="The agent card, A2A 1.0 or 0.3.")
    agent_did: str | None = Field(
        default=None,
        max_length=DID_MAX_CHARACTERS,
        description="An own agent that has no card; without it the card is a listing card.",
    )

    def request_card(self) -> NewCardRequest:
        """What is asked for."""
        return NewCardRequest(self.card_data, self.agent_did)


class EditCardIn(BaseModel):
    """The two members that an owner may change; whatever else is sent has no effect."""

    card_data: dict[str, Any] | None = Field(
        default=None, description="The whole new document: nothing of the one before is merged in."
    )
    is_active: StrictBool | None = Field(default=None, description="Off: in no listing and no search.")

    def edit(self) -> CardEdit:
        """What the owner says."""
        return CardEdit(self.card_data, self.is_active)


class ListingIn(BaseModel):
    """How the card is to be listed."""

    unlisted: StrictBool
