# Generated from hansa_client/asynchronous/rulings.py by `python -m tests.house.synchronous`.
"""Rulings on disputes, by a developer with the area `admin_enforcement`."""

from typing import Any

import msgspec

from hansa_client.amounts import amount_text
from hansa_client.calls import Call
from hansa_client.records.disputes import Dispute, Ruling
from hansa_client.records.record import Page

from .session import Session
from .transport import Transport

PREFIX = "/api/v1/disputes"
ADMIN_PREFIX = "/api/v1/admin/disputes"


class Rulings:
    """Read disputes as their administrator, end the time for evidence, and rule."""

    def __init__(self, transport: Transport, administrator: Session) -> None:
        self._transport = transport
        self._administrator = administrator

    def list(self, *, status: str | None = None, limit: int = 50, offset: int = 0) -> Page[Dispute]:
        """The disputes of all agents, newest first. Raises: Forbidden."""
        query = {"status": status, "limit": limit, "offset": offset}
        call = Call("GET", f"{PREFIX}/", query=query)
        return self._transport.answer(call, Page[Dispute], self._administrator)

    def bundle(self, dispute_id: int) -> dict[str, Any]:
        """The facts of a dispute, with the ruling that they give as `proposal`. Raises: NotFound."""
        call = Call("GET", f"{PREFIX}/{dispute_id}/bundle")
        return self._transport.answer(call, dict[str, Any], self._administrator)

    def open_voting(self, dispute_id: int) -> Dispute:
        """End the time for evidence. Raises: Conflict, Forbidden, NotFound, OutcomeUnknown."""
        call = Call("PUT", f"{ADMIN_PREFIX}/{dispute_id}/open-voting")
        return self._transport.answer(call, Dispute, self._administrator)

    def rule(self, dispute_id: int, ruling: Ruling) -> Dispute:
        """Rule; the same ruling again changes nothing. Raises: BadRequest, Conflict, Forbidden, NotFound, Invalid."""
        body = {
            name: amount_text(value) if name.endswith("_amount") else value
            for name, value in msgspec.structs.asdict(ruling).items()
            if value is not None
        }
        call = Call("PUT", f"{ADMIN_PREFIX}/{dispute_id}/ruling", json=body)
        return self._transport.answer(call, Dispute, self._administrator)
