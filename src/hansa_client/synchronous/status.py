# Generated from hansa_client/asynchronous/status.py by `python -m tests.house.synchronous`.
"""Status, activity and showcase of the registry, for anyone; incidents and pins of an administrator of the platform."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from urllib.parse import quote

from hansa_client.calls import Call, new_key
from hansa_client.records.status import ActivityFeed, Incident, Pin, Pins, RegistryStatus, Showcase

from .session import Session
from .transport import Transport

INCIDENTS = "/api/v1/admin/incidents"
FEED = "/api/v1/system/activity-feed"


class Status:
    """Read what the registry states about itself, and report incidents."""

    def __init__(self, transport: Transport, administrator: Session) -> None:
        self._transport = transport
        self._administrator = administrator

    def read(self) -> RegistryStatus:
        """State, components, incidents and uptime."""
        return self._transport.answer(Call("GET", "/api/v1/public/status"), RegistryStatus)

    def activity(self, kind: str | None = None, *, limit: int = 10, offset: int = 0) -> ActivityFeed:
        """The newest facts, of one kind such as `AGENT_ONBOARDED` or of all. Raises: Invalid."""
        path = FEED if kind is None else f"{FEED}/by-type/{quote(kind, safe='')}"
        call = Call("GET", path, query={"limit": limit, "offset": offset})
        return self._transport.answer(call, ActivityFeed)

    def showcase(self) -> Showcase:
        """Agents that anybody may call, and why each is shown."""
        return self._transport.answer(Call("GET", "/api/v1/public/showcase"), Showcase)

    def open_incident(
        self,
        title: str,
        body: str,
        *,
        kind: str = "incident",
        components: Sequence[str] = (),
        starts_at: datetime | None = None,
        ends_at: datetime | None = None,
        key: str | None = None,
    ) -> Incident:
        """Open an incident, or with the kind `maintenance` announce one; both are public. Raises: Forbidden, Invalid, OutcomeUnknown."""
        members: dict[str, Any] = {
            "kind": kind,
            "title": title,
            "body": body,
            "components": list(components),
            "starts_at": None if starts_at is None else starts_at.isoformat(),
            "ends_at": None if ends_at is None else ends_at.isoformat(),
        }
        call = Call("POST", INCIDENTS, json=members, key=new_key() if key is None else key)
        return self._transport.answer(call, Incident, self._administrator)

    def update_incident(self, incident_id: str, state: str, body: str, *, key: str | None = None) -> Incident:
        """State how far an incident is; `resolved` ends it. Raises: Conflict, Forbidden, NotFound, OutcomeUnknown."""
        call = Call(
            "POST",
            f"{INCIDENTS}/{quote(incident_id, safe='')}/updates",
            json={"state": state, "body": body},
            key=new_key() if key is None else key,
        )
        return self._transport.answer(call, Incident, self._administrator)

    def pin(self, pins: Sequence[Pin]) -> Pins:
        """Replace the pinned agents of the showcase. Raises: Forbidden, Invalid, NotFound."""
        body = {"pinned": [{"did": pin.did, "note": pin.note} for pin in pins]}
        call = Call("PUT", "/api/v1/admin/showcase", json=body)
        return self._transport.answer(call, Pins, self._administrator)
