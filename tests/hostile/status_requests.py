"""Incidents that take an update, and the bodies of requests about status and showcase."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.hostile.well_formed import Stage

_OPEN = """
INSERT INTO status_incident (kind, title, body, components, starts_at)
VALUES ('incident', 'Staged', 'Staged.', '{ledger}', now()) RETURNING id
"""


async def _incident(stage: "Stage") -> str:
    """The id of an open incident."""
    return str(await stage.registry.database.transaction(lambda tx: tx.fetchval(_OPEN)))


async def _to_update(stage: "Stage") -> str:
    return f"{await _incident(stage)}/updates"


async def _body_of_incident(stage: "Stage") -> dict[str, Any]:
    # The public list shows all that may be open at once; incidents of other requests are over.
    await stage.registry.database.transaction(
        lambda tx: tx.execute("UPDATE status_incident SET state = 'resolved'")
    )
    return {"kind": "incident", "title": "Staged", "body": "Staged.", "components": ["ledger"]}


async def _body_of_update(_: "Stage") -> dict[str, Any]:
    return {"state": "monitoring", "body": "Staged."}


async def _body_of_pins(stage: "Stage") -> dict[str, Any]:
    return {"pinned": [{"did": stage.payee.did, "note": "Staged."}]}


MADE_ANEW: dict[str, Callable[["Stage"], Awaitable[str]]] = {
    "{incident_id}/updates": _to_update,
    "{incident_id:uuid}": _incident,
}

BODIES: dict[str, Callable[["Stage"], Awaitable[dict[str, Any]]]] = {
    "POST /api/v1/admin/incidents": _body_of_incident,
    "POST /api/v1/admin/incidents/{incident_id}/updates": _body_of_update,
    "PUT /api/v1/admin/showcase": _body_of_pins,
}
