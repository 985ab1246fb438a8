"""Shapes of the feed's answers over HTTP."""

from pydantic import BaseModel, Field


class TicketOut(BaseModel):
    """A ticket for one socket."""

    ticket: str = Field(description="For the query of /ws/events as `token`; single use.")
    expires_in: int = Field(description="Seconds.")
