"""Lookups that come at the same moment share one statement.

The next statement takes every key that came while the last one ran, so a lookup always reads after it was asked for:
nothing is remembered between statements.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Generic, TypeVar

Key = TypeVar("Key")
Found = TypeVar("Found")


class Gathering(Generic[Key, Found]):
    """Gathers lookups of one process; `load` answers many keys at once, absent ones left out."""

    def __init__(self, load: Callable[[Sequence[Key]], Awaitable[Mapping[Key, Found]]]) -> None:
        self._load = load
        self._waiting: dict[Key, asyncio.Future[Found | None]] = {}
        self._worker: asyncio.Task[None] | None = None

    async def find(self, key: Key) -> Found | None:
        """What `load` finds for `key`, read after this call began. Raises: what `load` raises."""
        future = self._waiting.get(key)
        if future is None:
            future = self._waiting[key] = asyncio.get_running_loop().create_future()
            if self._worker is None or self._worker.done():
                self._worker = asyncio.create_task(self._work())
        # One caller going away does not end the lookup for the others.
        return await asyncio.shield(future)

    async def _work(self) -> None:
        while self._waiting:
            asked, self._waiting = self._waiting, {}
            try:
                found = await self._load(list(asked))
            except Exception as trouble:  # noqa: BLE001
                for future in asked.values():
                    future.set_exception(trouble)
                    # Marked as seen: everybody who asked may have gone away.
                    future.exception()
                continue
            for key, future in asked.items():
                future.set_result(found.get(key))
