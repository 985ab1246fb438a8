"""Shapes of the feed's answers over HTTP."""

from pydantic import BaseModel, Field


class TicketOut(BaseModel):
    """A ticket for one socket."""

    ticket: str = Field(description="Goes into the query of /ws/events as `token`; good once.")
    expires_in: int = Field(description="Seconds.")
