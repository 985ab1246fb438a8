"""Tickets of the developer at the support of a registry, and reports about agents by anybody.

Each act is one intent: all its attempts carry one Idempotency-Key.
"""

from typing import Any
from urllib.parse import quote

from hansa_client.calls import Call, new_key
from hansa_client.records.support import (
    RelatedType,
    ReportAccepted,
    Ticket,
    TicketCategory,
    Tickets,
    TicketStatus,
)

from .session import AsyncSession
from .transport import AsyncTransport

PREFIX = "/api/v1/support/tickets"


class AsyncSupport:
    """Open tickets, write in them, close them; report an agent."""

    def __init__(self, transport: AsyncTransport, developer: AsyncSession) -> None:
        self._transport = transport
        self._developer = developer

    async def open(
        self,
        subject: str,
        body: str,
        *,
        category: TicketCategory = "other",
        agent_did: str | None = None,
        related: tuple[RelatedType, str] | None = None,
        key: str | None = None,
    ) -> Ticket:
        """Open a ticket; `agent_did` is an own agent, `related` the kind and id of a thing of the developer.

        Raises: Invalid, NotFound, TooManyRequests, OutcomeUnknown.
        """
        named = {"type": related[0], "id": related[1]} if related else None
        content = {
            "subject": subject,
            "body": body,
            "category": category,
            "agent_did": agent_did,
            "related": named,
        }
        return await self._act(PREFIX, content, key)

    async def list(
        self,
        *,
        status: TicketStatus | None = None,
        text: str | None = None,
        limit: int = 50,
        next: str | None = None,  # noqa: A002
    ) -> Tickets:
        """A page of own tickets, newest first; `text` is sought in the subject, or is a number."""
        named = {"status": status, "q": text, "next": next}
        query = {"limit": limit, **{name: value for name, value in named.items() if value}}
        return await self._transport.answer(Call("GET", PREFIX, query=query), Tickets, self._developer)

    async def read(self, ticket_id: str) -> Ticket:
        """One ticket with its messages and states. Raises: NotFound."""
        return await self._transport.answer(Call("GET", _path(ticket_id)), Ticket, self._developer)

    async def reply(self, ticket_id: str, body: str, *, key: str | None = None) -> Ticket:
        """Write a message in an open ticket. Raises: Conflict, NotFound, TooManyRequests, OutcomeUnknown."""
        return await self._act(f"{_path(ticket_id)}/messages", {"body": body}, key)

    async def close(self, ticket_id: str, *, key: str | None = None) -> Ticket:
        """Close a ticket. Raises: Conflict, NotFound, OutcomeUnknown."""
        return await self._act(f"{_path(ticket_id)}/close", None, key)

    async def reopen(self, ticket_id: str, *, key: str | None = None) -> Ticket:
        """Open a ticket again that is resolved, or that closed at most 14 days ago. Raises: Conflict, NotFound, TooManyRequests, OutcomeUnknown."""
        return await self._act(f"{_path(ticket_id)}/reopen", None, key)

    async def report(
        self, agent_did: str, reason: str, body: str, *, email: str | None = None
    ) -> ReportAccepted:
        """Report an agent, without a login. A lost answer raises OutcomeUnknown. Raises: Invalid, NotFound, TooManyRequests, OutcomeUnknown."""
        content = {"agent_did": agent_did, "reason": reason, "body": body, "email": email}
        call = Call("POST", "/api/v1/support/reports", json=content)
        return await self._transport.answer(call, ReportAccepted)

    async def _act(self, path: str, content: dict[str, Any] | None, key: str | None) -> Ticket:
        call = Call("POST", path, json=content, key=new_key() if key is None else key)
        return await self._transport.answer(call, Ticket, self._developer)


def _path(ticket_id: str) -> str:
    return f"{PREFIX}/{quote(ticket_id, safe='')}"
