"""Facts of the agents room."""

from typing import ClassVar

from hansa.foundation.events.base import Event


class AgentOnboarded(Event, frozen=True):
    """An agent got its identity, its card and its account."""

    aggregate_type: ClassVar[str] = "agent"

    did: str
    card_id: str
    first_agent: bool
    initial_funding_status: str

    @property
    def aggregate_id(self) -> str:
        return self.did
