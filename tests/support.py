"""Tickets of the tests: those who write them, and requests about them."""

from typing import Any

import httpx2

from tests.registry import TestDeveloper, TestRegistry

TICKETS, ADMIN = "/support/tickets", "/admin/support/tickets"
TICKET = {
    "subject": "No units arrived",
    "body": "The payment of yesterday is missing.",
    "category": "payment",
}


async def ask(
    who: TestDeveloper, method: str, path: str, body: Any = None, *, key: str | None = None
) -> httpx2.Response:
    """The answer to a request of a developer."""
    headers = {**who.headers, **({"Idempotency-Key": key} if key else {})}
    return await who.registry.http.request(method, f"/api/v1{path}", json=body, headers=headers)


async def opened(who: TestDeveloper, **members: Any) -> dict[str, Any]:
    """A ticket that this developer opens."""
    answer = await ask(who, "POST", TICKETS, {**TICKET, **members})
    assert answer.status_code == 201, answer.text
    ticket: dict[str, Any] = answer.json()
    return ticket


async def done(who: TestDeveloper, ticket: dict[str, Any], act: str, body: Any = None) -> dict[str, Any]:
    """The ticket after an act of its author."""
    answer = await ask(who, "POST", f"{TICKETS}/{ticket['id']}/{act}", body)
    assert answer.is_success, answer.text
    after: dict[str, Any] = answer.json()
    return after


async def answered(who: TestDeveloper, ticket: dict[str, Any], **body: Any) -> httpx2.Response:
    """The response to an answer, or a note, of the support."""
    return await ask(who, "POST", f"{ADMIN}/{ticket['id']}/messages", {"body": "We look at it.", **body})


async def changed(who: TestDeveloper, ticket: dict[str, Any], **changes: Any) -> httpx2.Response:
    """The response to a change by the support."""
    return await ask(who, "PUT", f"{ADMIN}/{ticket['id']}", changes)


async def report(registry: TestRegistry, did: str, **members: Any) -> httpx2.Response:
    """The response to a report of anybody."""
    address = members.pop("address", None)
    headers = registry.elsewhere() if address is None else {"X-Forwarded-For": address}
    body = {"agent_did": did, "reason": "It takes money", "body": "It never answers.", **members}
    return await registry.post("/support/reports", json=body, headers=headers)


async def let_days_pass(registry: TestRegistry, days: int) -> None:
    """Set every time of tickets back."""
    await registry.database.transaction(
        lambda tx: tx.execute(
            "UPDATE support_ticket SET resolved_at = resolved_at - make_interval(days => $1),"
            " closed_at = closed_at - make_interval(days => $1)",
            days,
        )
    )
