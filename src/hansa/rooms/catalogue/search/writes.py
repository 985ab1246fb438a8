"""Transactions that change what a search shows."""

from collections.abc import Awaitable, Callable
from typing import Annotated, TypeVar

from fastapi import Depends, Request

from hansa.foundation.plumbing.database import Database, Tx
from hansa.foundation.plumbing.runtime import runtime_of

from .searcher import SEARCHER, Searcher

Result = TypeVar("Result")


class IndexedWrites:
    """The database, for use cases that change a card."""

    def __init__(self, database: Database, searcher: Searcher) -> None:
        self._database = database
        self._searcher = searcher

    async def act(self, use_case: Callable[[Tx], Awaitable[Result]]) -> Result:
        """As `Database.act`; returns once the next search of this process finds the change, or after 200 ms.

        The transaction has ended by then, and no connection is held while waiting.
        """
        result = await self._database.act(use_case)
        await self._searcher.include_committed()
        return result


async def _indexed_writes(request: Request) -> IndexedWrites:
    return IndexedWrites(runtime_of(request).database, SEARCHER.of(runtime_of(request)))


CardWrites = Annotated[IndexedWrites, Depends(_indexed_writes)]
