"""Logs of agents: written and read by the agent of this client, or read and deleted by the developer."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import quote

from hansa_client.calls import Call, new_key
from hansa_client.records.agents import AgentSelf
from hansa_client.records.logs import LogEntry, LogPage, LogsAccepted, LogsDeleted

from .session import AsyncSession
from .transport import AsyncTransport

PAGE_MAX = 500


class AsyncLogs:
    """The log of one agent at a time: without a DID that of the agent of this client, else one of the developer."""

    def __init__(self, transport: AsyncTransport, owner: AsyncSession, agent: AsyncSession) -> None:
        self._transport = transport
        self._owner = owner
        self._agent = agent

    async def write(self, entries: Sequence[Mapping[str, Any]], *, key: str | None = None) -> int:
        """Write up to 100 entries of `level`, `message`, `log_metadata` and `trace_id`, all or none; returns their number.

        Raises: Invalid, TooManyRequests, OutcomeUnknown.
        """
        own = await self._transport.answer(Call("GET", "/api/v1/agents/me"), AgentSelf, self._agent)
        body = {"entries": list(entries)}
        call = Call("POST", _path(own.did), json=body, key=new_key() if key is None else key)
        return (await self._transport.answer(call, LogsAccepted, self._agent)).accepted

    async def read(
        self,
        did: str | None = None,
        *,
        limit: int = 50,
        level: str | None = None,
        source: str | None = None,
        trace_id: str | None = None,
        text: str | None = None,
        since: datetime | None = None,
        next: str | None = None,  # noqa: A002
    ) -> LogPage:
        """A page of entries that meet every bound that is set, newest first. Raises: NotFound."""
        session = self._owner
        if did is None:
            session = self._agent
            did = (await self._transport.answer(Call("GET", "/api/v1/agents/me"), AgentSelf, session)).did
        query = {
            "limit": limit,
            "level": level,
            "source": source,
            "trace_id": trace_id,
            "q": text,
            "since": since.isoformat() if since is not None else None,
            "next": next,
        }
        given = {name: value for name, value in query.items() if value is not None}
        return await self._transport.answer(Call("GET", _path(did), query=given), LogPage, session)

    async def after(
        self, last: LogEntry, did: str | None = None, *, level: str | None = None, text: str | None = None
    ) -> list[LogEntry]:
        """Every entry that was written after one that was read, oldest first, also where that one was deleted since then."""
        found: list[LogEntry] = []
        place: str | None = None
        while True:
            page = await self.read(
                did, limit=PAGE_MAX, level=level, text=text, since=last.timestamp, next=place
            )
            for entry in page.logs:
                if entry.id == last.id:
                    return found[::-1]
                found.append(entry)
            place = page.next
            if place is None:
                return found[::-1]

    async def delete(self, did: str) -> int:
        """Delete every entry of the log of an agent of the developer; returns their number. Raises: NotFound."""
        return (await self._transport.answer(Call("DELETE", _path(did)), LogsDeleted, self._owner)).deleted


def _path(did: str) -> str:
    return f"/api/v1/agents/{quote(did, safe='')}/logs"
