"""Facts of the support. Each is private to the author of the ticket; texts are in none."""

from typing import ClassVar

from hansa.foundation.events.base import REGISTRY_ACCOUNT, Event


class _TicketEvent(Event, frozen=True):
    aggregate_type: ClassVar[str] = "system_account"
    is_private: ClassVar[bool] = True

    developer_id: int
    ticket_id: str
    number: str

    @property
    def aggregate_id(self) -> str:
        return REGISTRY_ACCOUNT


class SupportTicketOpened(_TicketEvent, frozen=True):
    """A developer opened a ticket."""

    category: str


class SupportTicketAnswered(_TicketEvent, frozen=True):
    """The support answered a ticket."""


class SupportTicketMoved(_TicketEvent, frozen=True):
    """A ticket has another state: `open`, `waiting_for_user`, `resolved` or `closed`; `by` is `author`, `support` or `registry`."""

    status: str
    by: str
