"""Shapes of the feed's answers over HTTP."""

from pydantic import Field

from hansa.foundation.values.lazy_model import LazyModel


class TicketOut(LazyModel):
    """A ticket for one socket."""

    ticket: str = Field(description="For the query of /ws/events as `token`; single use.")
    expires_in: int = Field(description="Seconds.")
