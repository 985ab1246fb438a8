"""Shapes of an owner's requests about a card."""

from typing import Any

from pydantic import Field, StrictBool

from hansa.foundation.values.did import DID_MAX_CHARACTERS
from hansa.foundation.values.lazy_model import LazyModel

from .create import NewCardRequest
from .edit import CardEdit


class CreateCardIn(LazyModel):
    """A new card, for an own agent or without an agent."""

    card_data: dict[str, Any] = Field(description="The agent card, A2A 1.0 or 0.3.")
    agent_did: str | None = Field(
        default=None,
        max_length=DID_MAX_CHARACTERS,
        description="An own agent without a card; absent: the card is a listing card.",
    )

    def request_card(self) -> NewCardRequest:
        """Return the requested card."""
        return NewCardRequest(self.card_data, self.agent_did)


class EditCardIn(LazyModel):
    """The two members that an owner may change; other members have no effect."""

    card_data: dict[str, Any] | None = Field(
        default=None, description="The complete new document; it is not merged with the former one."
    )
    is_active: StrictBool | None = Field(default=None, description="False: hidden from listings and search.")

    def edit(self) -> CardEdit:
        """Return the edit of the owner."""
        return CardEdit(self.card_data, self.is_active)


class ListingIn(LazyModel):
    """How the card is to be listed."""

    unlisted: StrictBool
