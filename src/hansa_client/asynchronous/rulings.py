"""Rulings on disputes, by a developer with the area `admin_enforcement`."""

from typing import Any

import msgspec

from hansa_client.amounts import amount_text
from hansa_client.calls import Call
from hansa_client.records.disputes import Dispute, Ruling
from hansa_client.records.record import Page

from .session import AsyncSession
from .transport import AsyncTransport

PREFIX = "/api/v1/disputes"
ADMIN_PREFIX = "/api/v1/admin/disputes"


class AsyncRulings:
    """Read disputes as their administrator, end the time for evidence, and rule."""

    def __init__(self, transport: AsyncTransport, administrator: AsyncSession) -> None:
        self._transport = transport
        self._administrator = administrator

    async def list(self, *, status: str | None = None, limit: int = 50, offset: int = 0) -> Page[Dispute]:
        """The disputes of all agents, newest first. Raises: Forbidden."""
        query = {"status": status, "limit": limit, "offset": offset}
        call = Call("GET", f"{PREFIX}/", query=query)
        return await self._transport.answer(call, Page[Dispute], self._administrator)

    async def bundle(self, dispute_id: int) -> dict[str, Any]:
        """The facts of a dispute, with the ruling that they give as `proposal`. Raises: NotFound."""
        call = Call("GET", f"{PREFIX}/{dispute_id}/bundle")
        return await self._transport.answer(call, dict[str, Any], self._administrator)

    async def open_voting(self, dispute_id: int) -> Dispute:
        """End the time for evidence. Raises: Conflict, Forbidden, NotFound, OutcomeUnknown."""
        call = Call("PUT", f"{ADMIN_PREFIX}/{dispute_id}/open-voting")
        return await self._transport.answer(call, Dispute, self._administrator)

    async def rule(self, dispute_id: int, ruling: Ruling) -> Dispute:
        """Rule; the same ruling again changes nothing. Raises: BadRequest, Conflict, Forbidden, NotFound, Invalid."""
        body = {
            name: amount_text(value) if name.endswith("_amount") else value
            for name, value in msgspec.structs.asdict(ruling).items()
            if value is not None
        }
        call = Call("PUT", f"{ADMIN_PREFIX}/{dispute_id}/ruling", json=body)
        return await self._transport.answer(call, Dispute, self._administrator)
