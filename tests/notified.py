"""Notifications to the owners of an agent: the reactor runs over the events of the agent, and the queued webhooks are read."""

import json
from typing import Any

from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms.journal.store import COLUMNS, stored
from hansa.rooms.notifications import OWNER_NOTICES
from tests.registry import TestDeveloper, TestRegistry


async def subscribe(owner: TestDeveloper, *event_types: str) -> None:
    """A webhook of this owner for these types."""
    body = {"url": "https://receiver.example.com/hook", "event_types": list(event_types)}
    made = await owner.registry.post("/developers/webhooks", json=body, headers=owner.headers)
    assert made.status_code == 201, made.text


async def notified_of(registry: TestRegistry, did: str) -> list[tuple[str, dict[str, Any]]]:
    """Type and data of each delivery that the events filed under this agent queue, in no order."""

    async def react(tx: Tx) -> list[tuple[str, dict[str, Any]]]:
        before = {row["id"] for row in await tx.fetch("SELECT id FROM notifications_webhook_delivery")}
        rows = await tx.fetch(
            f"SELECT {COLUMNS} FROM journal_event WHERE event_type = ANY($1) AND aggregate_id = $2 ORDER BY seq",
            list(OWNER_NOTICES.type_names),
            did,
        )
        for event in stored(rows):
            await OWNER_NOTICES.react(tx, event)
        queued = await tx.fetch("SELECT id, event_type, payload FROM notifications_webhook_delivery")
        return [
            (row["event_type"], json.loads(row["payload"])["data"])
            for row in queued
            if row["id"] not in before
        ]

    return await registry.database.transaction(react)
