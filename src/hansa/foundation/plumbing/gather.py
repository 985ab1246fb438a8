"""Lookups that come at the same moment share one statement.

The next statement takes every key that came while the last one ran, so a lookup always reads after it was asked for:
nothing is remembered between statements.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import chain
from typing import Generic, TypeVar

Key = TypeVar("Key")
Found = TypeVar("Found")


class Gathering(Generic[Key, Found]):
    """Gathers lookups of one process; `load` answers many keys at once, absent ones left out."""

    def __init__(self, load: Callable[[Sequence[Key]], Awaitable[Mapping[Key, Found]]]) -> None:
        self._load = load
        self._waiting: dict[Key, list[asyncio.Future[Found | None]]] = {}
        self._worker: asyncio.Task[None] | None = None

    async def find(self, key: Key) -> Found | None:
        """What `load` finds for `key`, read after this call began. Raises: what `load` raises."""
        future: asyncio.Future[Found | None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(key, []).append(future)
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work())
        return await future

    async def _work(self) -> None:
        while self._waiting:
            asked, self._waiting = self._waiting, {}
            try:
                found = await self._load(list(asked))
            except Exception as trouble:  # noqa: BLE001
                for future in chain(*asked.values()):
                    if not future.cancelled():
                        future.set_exception(trouble)
                continue
            for key, futures in asked.items():
                for future in futures:
                    # A caller that went away has cancelled its own.
                    if not future.cancelled():
                        future.set_result(found.get(key))
