"""Tickets of the staged developer for well-formed requests, and the forms of their pages."""

from collections.abc import Awaitable, Callable
from typing import Any

from hansa.foundation.plumbing.storage.database import Tx

# An account opens and writes so many an hour, and has so many open.
FORMER_TICKETS = (
    "UPDATE support_ticket SET status = 'closed', closed_at = now(), created_at = created_at - interval '1 day',"
    " reporter_email = NULL"
)
FORMER_MESSAGES = "UPDATE support_message SET created_at = created_at - interval '1 day'"
UNBROKEN = "unbroken" * 20
OPENED = (
    "INSERT INTO support_ticket (author_id, category, subject, body, status, resolved_at)"
    " SELECT id, 'other', 'Staged', 'Staged', $2::text, CASE WHEN $2 = 'resolved' THEN now() END FROM people_developer"
    " WHERE email = $1 RETURNING id"
)


async def let_tickets_be_former(stage: Any) -> None:
    """Close the tickets of earlier requests, and let their hour be over."""

    async def former(tx: Tx) -> None:
        for statement in (FORMER_TICKETS, FORMER_MESSAGES):
            await tx.execute(statement)

    await stage.registry.database.transaction(former)


async def ticket(stage: Any, status: str = "open") -> str:
    """The id of a ticket of the staged developer, which has no other open one."""
    await let_tickets_be_former(stage)

    async def opened(tx: Tx) -> str:
        made = await tx.fetchval(OPENED, stage.developer.email, status)
        for table in ("support_message", "support_note"):
            await tx.execute(f"INSERT INTO {table} (ticket_id, body) VALUES ($1, $2)", made, UNBROKEN)
        return str(made)

    made: str = await stage.registry.database.transaction(opened)
    return made


async def _resolved(stage: Any) -> str:
    return f"{await ticket(stage, 'resolved')}/reopen"


async def _ticket(_: Any) -> dict[str, Any]:
    return {"subject": "Staged ticket", "body": "Staged", "category": "other"}


async def _message(_: Any) -> dict[str, Any]:
    return {"body": "Staged"}


async def _report(stage: Any) -> dict[str, Any]:
    return {"agent_did": stage.agent.did, "reason": "Staged report", "body": "Staged"}


async def _change(_: Any) -> dict[str, Any]:
    return {"priority": "high"}


async def _nothing(_: Any) -> dict[str, Any]:
    return {}


Make = Callable[[Any], Awaitable[dict[str, Any]]]
API, ADMIN = "/api/v1/support", "/api/v1/admin/support/tickets/{ticket_id}"
MADE_ANEW: dict[str, Callable[[Any], Awaitable[str]]] = {
    "{ticket_id}/reopen": _resolved,
    "{ticket_id}": ticket,
    "{ticket_id:uuid}": ticket,
}
BEFORE = {f"POST {API}/tickets": let_tickets_be_former, "POST /account/support": let_tickets_be_former}
BODIES: dict[str, Make] = {
    f"POST {API}/tickets": _ticket,
    f"POST {API}/tickets/{{ticket_id}}/messages": _message,
    f"POST {API}/tickets/{{ticket_id}}/close": _nothing,
    f"POST {API}/tickets/{{ticket_id}}/reopen": _nothing,
    f"POST {API}/reports": _report,
    f"PUT {ADMIN}": _change,
    f"POST {ADMIN}/messages": _message,
}
FORMS: dict[str, Make] = {
    "POST /account/support": _ticket,
    "POST /account/support/{ticket_id:uuid}/{act}": _message,
}
"""Fields of the forms of pages, without their key."""
