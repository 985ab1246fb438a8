"""Fetch the next page of a peer while the one before it is applied: the peer, this process and the database work at once."""

import asyncio
from collections.abc import Awaitable, Callable

from .records import JudgedPage


class PageAhead:
    """At most one page that is fetched ahead; it counts only where the reader goes on from the place that it was fetched from."""

    def __init__(self, fetch: Callable[[str | None, int], Awaitable[JudgedPage]]) -> None:
        self._fetch = fetch
        self._since: str | None = None
        self._fetching: asyncio.Task[JudgedPage] | None = None

    def begin(self, since: str, size: int) -> None:
        """Fetch the page after this place from now on."""
        self._since = since
        self._fetching = asyncio.ensure_future(self._fetch(since, size))

    async def page(self, since: str | None, size: int) -> JudgedPage:
        """Return the page after a place, as far as it was fetched already. Raises: the error of fetching it."""
        if self._fetching is not None and self._since == since:
            try:
                return await self._fetching
            finally:
                self._fetching = None
        await self.drop()
        return await self._fetch(since, size)

    async def drop(self) -> None:
        """Read nothing ahead any more."""
        fetching, self._fetching = self._fetching, None
        if fetching is None:
            return
        fetching.cancel()
        await asyncio.wait([fetching])
        if not fetching.cancelled():
            # Retrieved, because asyncio logs the exception of a task that is never awaited.
            fetching.exception()
